# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loop of one program: recorded and advised on with one input, verified with another."""

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess

ADVISED, HELD_OUT = 1, 2  # seeds of the inputs
ATTEMPTS = 3


@dataclasses.dataclass(frozen=True)
class Tools:
    ashlar: pathlib.Path
    folder: pathlib.Path  # for inputs, traces and plans
    budget: str
    runs: int


class Failed(Exception):
    pass


def ashlar(tools, case, *words, accept=(0,), option=""):
    """Runs the command, which ends with one of these statuses. option: of libashlar.so in what it runs."""
    options = ",".join(filter(None, (case.environment.get("ASHLAR", ""), option)))
    environment = {**os.environ, **case.environment, **({"ASHLAR": options} if options else {})}
    done = subprocess.run(
        [tools.ashlar, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
        check=False, env=environment,
    )
    if done.returncode not in accept:
        raise Failed(f"{case.name}: ashlar {words[0]} ends with {done.returncode}: {done.stderr.strip()[-400:]}")
    return done


def input_of(tools, case, seed):
    folder = tools.folder / case.name / f"input{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    case.prepare(folder, seed)
    return folder


def effect(measure):
    return {key: measure[key] for key in ("ratio", "interval", "pairs", "detectable")}


def advice_of(tools, case, plan):
    """The trace, the advice on it that is measured, and what of it a table needs."""
    command = case.command(input_of(tools, case, ADVISED), tools.folder / "drivers")
    trace, found = tools.folder / case.name / "trace", tools.folder / case.name / "advice.json"
    ashlar(tools, case, "record", "-q", "--stacks", "16", "-o", trace, "--", *command)
    words = ("advise", trace, "--measure", "run", "--budget", tools.budget, "-o", plan, "--json", found)
    ashlar(tools, case, *words, accept=(0, 3, 4, 5))
    measurement = json.loads(found.read_text())["measurement"]
    remedies = [remedy for remedy in measurement["remedies"] if "failure" not in remedy]
    return {
        "decision": measurement["decision"],
        "sentence": measurement["sentence"],
        "winner": measurement["winner"],
        "rounds": measurement["screen"]["rounds"],
        "confirming_rounds": measurement["confirmation"]["rounds"],
        "group_pairs": measurement["group_pairs"],
        "groups": len(measurement["groups"]),
        "kept_groups": len(plan.read_text().splitlines()) - 1,
        "seconds": measurement["seconds"],
        "plan": measurement["plan"],
        "page_option": next((r["option"] for r in remedies if r["name"] == measurement["page_policy"]), ""),
        "remedies": {
            remedy["name"]: {"kind": remedy["kind"], "confirmed": remedy["confirmed"], **effect(remedy["measures"]["cpu_ms"])}
            for remedy in remedies
        },
        "failures": {r["name"]: r["failure"] for r in measurement["remedies"] if "failure" in r},
    }


def verified(tools, case, command, *how, option=""):
    """The program under B against the program as it is, on the held-out input."""
    return compared(tools, case, *how, "--", *command, option=option)


def experiment(tools, case, *sides, option=""):
    """What `ashlar verify` finds, which may find the machine unfit for a moment."""
    result = tools.folder / case.name / "verify.json"
    words = ("verify", "--runs", tools.runs, "--json", result, *sides)
    for _ in range(ATTEMPTS):
        ashlar(tools, case, *words, accept=(0, 3, 4, 5), option=option)
        found = json.loads(result.read_text())
        if found["verdict"] != "unfit":
            return found
    raise Failed(f"{case.name}: runs of the same program differed in {ATTEMPTS} attempts")


def compared(tools, case, *sides, option=""):
    """B against A, as these words of `ashlar verify` name them; every run is kept."""
    found = experiment(tools, case, *sides, option=option)
    runs = {
        f"{side}_{key}": [run[side][key] for run in found["runs"]]
        for side in "ab"
        for key in ("cpu_ms", "peak_rss_bytes")
    }
    cpu, peak = found["measures"]["cpu_ms"], found["measures"]["peak_rss_bytes"]
    return {
        "verdict": found["verdict"], "cpu": effect(cpu), "peak": effect(peak), "wall": effect(found["measures"]["wall_ms"]),
        "a_cpu_ms": cpu["a"], "a_peak_bytes": peak["a"], "seed": found["seed"], "runs": runs,
    }


def best_other(advice):
    """The name of the malloc, not ashlar's, that takes the least time in the advice."""
    others = {
        name.removeprefix("preload "): remedy["ratio"]
        for name, remedy in advice["remedies"].items()
        if remedy["kind"] == "preload" and "libashlar" not in name
    }
    return min(others, key=others.get) if others else None


def measure(tools, case):
    """Everything about one program."""
    case.compile(tools.folder / "drivers")
    plan, empty = tools.folder / case.name / "plan", tools.folder / case.name / "empty.plan"
    advice = advice_of(tools, case, plan)
    empty.write_text(plan.read_text().splitlines()[0] + "\n")
    command = case.command(input_of(tools, case, HELD_OUT), tools.folder / "drivers")
    found = {
        "empty plan": verified(tools, case, command, "--plan", empty),
        "libashlar.so": verified(tools, case, command, "--malloc", "libashlar.so"),
    }
    if other := best_other(advice):
        found["best other"] = {"name": other, **verified(tools, case, command, "--malloc", other)}
    if advice["kept_groups"]:
        found["plan"] = verified(tools, case, command, "--plan", plan)
    if option := advice["page_option"]:
        found["pages"] = verified(tools, case, command, "--malloc", "libashlar.so", option=option)
        if advice["kept_groups"]:
            found["plan on pages"] = verified(tools, case, command, "--plan", plan, option=option)
    return {"heading": case.heading, "advice": advice, "verified": found}
