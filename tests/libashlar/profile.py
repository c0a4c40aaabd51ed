# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""profile.py <library> <program> <way>: the heap profile of a program against the bytes that the program prints.

Each estimate must lie within five standard deviations. google-pprof, jeprof, pprof and `go tool pprof`, where they are
installed, must read the file too."""
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from symbols import Symbols

HEAD = re.compile(r"heap profile: (\d+): (\d+) \[(\d+): (\d+)\] @ heap_v2/(\d+)$")
LINE = re.compile(r"(\d+): (\d+) \[(\d+): (\d+)\] @((?: 0x[0-9a-f]+)*)$")
INTERVAL = 16384
CERTAIN = ("make_huge", "make_first")  # blocks far above the interval


def scaled(count, size):
    return size / (1 - math.exp(-size / count / INTERVAL)) if count else 0


def read(path, program):
    """Returns {function: [live samples, live bytes, allocated samples, allocated bytes]}, scaled."""
    text = pathlib.Path(path).read_text()
    samples, maps = text.split("\nMAPPED_LIBRARIES:\n")
    base = min(int(line.split("-")[0], 16) for line in maps.splitlines() if line.endswith(program))
    head, *lines = samples.splitlines()
    sums, symbols, found = [0] * 4, Symbols(program), {}
    total = HEAD.match(head)
    if not total or int(total[5]) != INTERVAL:
        sys.exit(f"another first line: {head}")
    for line in lines:
        match = LINE.match(line) or sys.exit(f"not a line of a profile: {line}")
        counts = [int(match[i]) for i in range(1, 5)]
        sums = [a + b for a, b in zip(sums, counts)]
        for address in match[5].split():
            if name := symbols.function_at(int(address, 16) - base - 1):
                of = found.setdefault(name, [0.0] * 4)
                of[0] += counts[0]
                of[1] += scaled(counts[0], counts[1])
                of[2] += counts[2]
                of[3] += scaled(counts[2], counts[3])
                break
    if sums != [int(total[i]) for i in range(1, 5)]:
        sys.exit(f"the first line is not the sum of the others: {sums}, {head}")
    return found


def expect_near(name, what, samples, got, wanted, huge):
    # A sample of a small block stands for INTERVAL bytes: the variance of the sum is INTERVAL times its expectation. A
    # block far above INTERVAL is always a sample.
    deviation = 0 if huge else math.sqrt(INTERVAL * wanted)
    if abs(got - wanted) > 5 * deviation + wanted / 1000:
        sys.exit(f"{name}: {what} {got:.0f} of {samples} samples, expected {wanted} +- {deviation:.0f}")
    print(f"{name}: {what} {got:.0f} of {samples:.0f} samples, expected {wanted} +- {deviation:.0f}")


def expect_readable(file, program):
    # That of Go names no functions of C.
    readers = [(name, [name, "--text"], "make_medium") for name in ("google-pprof", "jeprof", "pprof")]
    for name, command, wanted in [*readers, ("go", ["go", "tool", "pprof", "-raw"], "inuse_space/bytes")]:
        if not shutil.which(name):
            continue
        done = subprocess.run([*command, program, file], capture_output=True, text=True, check=False)
        if done.returncode != 0 or wanted not in done.stdout:
            sys.exit(f"{command} does not read it:\n{done.stdout}{done.stderr}")
        print(f"read by {command}")


def main():
    library, program, way = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        options = f"stats=profile:{folder}/%p.heap,profile_interval={INTERVAL},profile_signal=12"
        environment = os.environ | {"LD_PRELOAD": library, "ASHLAR": options}
        done = subprocess.Popen([program, way], env=environment, stdout=subprocess.PIPE, text=True)
        output, _ = done.communicate()
        if done.returncode != 0:
            sys.exit(f"ended with {done.returncode}")
        expected, files = {}, [f"{folder}/{done.pid}.heap"]
        for name, *numbers in map(str.split, output.splitlines()):
            if name == "child":
                files.append(f"{folder}/{numbers[0]}.heap")
            else:
                expected[name] = [int(number) for number in numbers]
        for file in files:
            found = read(file, program)
            for name, (live, allocated) in expected.items():
                of = found.get(name, [0] * 4)
                expect_near(name, "live", of[0], of[1], live, name in CERTAIN)
                expect_near(name, "allocated", of[2], of[3], allocated, name in CERTAIN)
            expect_readable(file, program)


main()
