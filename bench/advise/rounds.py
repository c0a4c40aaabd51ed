# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rounds of a program under several remedies in random order, and intervals of their effects that hold together."""

import dataclasses
import hashlib
import itertools
import math
import os
import random
import shlex
import statistics
import subprocess
import tempfile
import threading
import time

LEAST_ROUNDS = 7
ERROR = 0.05  # of all intervals of a program together
LONGEST_SECONDS = 20  # of a run
PLAIN = "as it is"


class Failed(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Run:
    cpu_ms: float
    done: tuple  # the status, and a sum of the output


def variables(line):
    """The variables before the program in a line such as "LD_PRELOAD=a.so ASHLAR=b prog word"."""
    words = itertools.takewhile(lambda word: "=" in word, shlex.split(line))
    return dict(word.split("=", 1) for word in words)


def run(command, environment, chosen):
    """The size of the environment is random, as the place of the stack is noise."""
    padded = {**os.environ, **environment, "ASHLAR_PADDING": "x" * chosen.randrange(4096)}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL, env=padded)
        timer = threading.Timer(LONGEST_SECONDS, process.kill)
        timer.start()
        _, process.returncode, usage = os.wait4(process.pid, 0)
        timer.cancel()
        output.seek(0)
        done = (process.returncode, hashlib.sha256(output.read()).hexdigest())
    return Run(1000 * (usage.ru_utime + usage.ru_stime), done)


def play(command, sides, seconds, seed):
    """Returns: the milliseconds of each side, run by run, and why others failed, in whichever run. sides: variables by name; PLAIN is one."""
    chosen = random.Random(seed)
    first = {name: run(command, environment, chosen) for name, environment in sides.items()}
    again = run(command, sides[PLAIN], chosen)
    varies = again.done != first[PLAIN].done
    if os.waitstatus_to_exitcode(again.done[0]) < 0 or again.done[0] != first[PLAIN].done[0]:
        raise Failed("the program dies, or ends with one status or another")
    differs = lambda found: found.done[0] != again.done[0] or (not varies and found.done != again.done)
    wrong = {name: "prints or ends otherwise" for name, found in first.items() if differs(found)}
    order = [name for name in sides if name not in wrong]
    times, end = {name: [] for name in order}, time.monotonic() + seconds
    while time.monotonic() < end or len(times[PLAIN]) < LEAST_ROUNDS:
        chosen.shuffle(order)
        for name in tuple(order):
            found = run(command, sides[name], chosen)
            times[name].append(found.cpu_ms)
            if differs(found):
                wrong[name] = f"prints or ends otherwise in run {len(times[name]) + 1}"
                order.remove(name)
        if PLAIN in wrong:
            raise Failed(f"the program {wrong[PLAIN]}")
    return {name: times[name] for name in order}, wrong


def quantile(chance, freedom):
    """Of Student's t, by the expansion of Cornish and Fisher: within 0.5 % from 12 degrees of freedom on."""
    z = statistics.NormalDist().inv_cdf(chance)
    terms = ((z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
             (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160)
    return z + sum(term / freedom**power for power, term in enumerate(terms, 1))


def effect(times, side, base, comparisons):
    """Side against base, with an interval that holds together with those of so many comparisons."""
    logs = [math.log(b / a) for a, b in zip(times[base], times[side])]
    mean, pairs = statistics.fmean(logs), len(logs)
    half = quantile(1 - ERROR / comparisons / 2, pairs - 1) * statistics.stdev(logs) / math.sqrt(pairs)
    ratio, *interval = (round(math.exp(log), 5) for log in (mean, mean - half, mean + half))
    return {"ratio": ratio, "interval": interval, "pairs": pairs}


def spread(values):
    """The median and the quarters of the milliseconds of a side."""
    return [round(value, 3) for value in statistics.quantiles(values, n=4)]


def compare(command, sides, pairs_of_sides, seconds, seed):
    """Returns: the effect of each (side, base) that ran, the milliseconds of the sides, and why sides failed."""
    times, wrong = play(command, sides, seconds, seed)
    wanted = [(side, base) for side, base in pairs_of_sides if side in times and base in times]
    effects = {f"{side} over {base}": effect(times, side, base, len(wanted)) for side, base in wanted}
    return {"effects": effects, "ms": {name: spread(values) for name, values in times.items()}, "failures": wrong}
