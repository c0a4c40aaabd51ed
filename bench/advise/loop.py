# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loop of one program: recorded and advised on with one input, verified with another."""

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import time

from . import rounds

ADVISED, HELD_OUT = 1, 2  # seeds of the inputs
ATTEMPTS = 3
START_SECONDS = 2
PROGRAMS_OWN = range(124)  # statuses
WITHOUT_PLAN = ("preload", "pages")  # kinds of remedies
HUGE = "huge pages, libashlar.so"
HEAP, EMPTY, WHOLE, PLAN, ON_PAGES = "preload libashlar.so", "empty plan", "whole plan", "plan", "plan on pages"


@dataclasses.dataclass(frozen=True)
class Tools:
    ashlar: pathlib.Path
    folder: pathlib.Path  # for inputs, traces and plans
    budget: str
    runs: int = 0  # pairs of one comparison by `ashlar verify`
    seconds: float = 0  # of the rounds of a program


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


def advice_of(tools, case, plan, whole):
    """The trace, the advice on it that is measured, and what of it a table needs. whole: the plan before it is measured."""
    command = case.command(input_of(tools, case, ADVISED), tools.folder / "drivers")
    trace, found = tools.folder / case.name / "trace", tools.folder / case.name / "advice.json"
    for file in (plan, whole, found):
        file.unlink(missing_ok=True)
    ashlar(tools, case, "record", "-q", "--stacks", "16", "-o", trace, "--", *command, accept=PROGRAMS_OWN)
    ashlar(tools, case, "advise", trace, "--process", "root", "--measure", "none", "-o", whole, "--json", tools.folder / case.name / "trace.json",
           accept=(0, 3))
    words = ("advise", trace, "--process", "root", "--measure", "run", "--budget", tools.budget, "-o", plan, "--json", found)
    done = ashlar(tools, case, *words, accept=(0, 1, 3, 4, 5))
    if not found.exists():
        raise Failed(f"{case.name}: {done.stderr.strip()[-400:]}")
    advice = json.loads(found.read_text())
    return {**measured_advice(advice["measurement"]), "plan_facts": plan_facts(advice, whole, plan),
            "own_allocator": bool(advice.get("own_allocator"))}


def groups_in(plan):
    return [json.loads(line) for line in plan.read_text().splitlines()[1:]] if plan.exists() else []


def plan_facts(advice, whole, plan):
    """How much of the program the whole plan routes, and how much of it is left."""
    groups, allocated = groups_in(whole), advice["features"]["allocated"]
    routed = sum(group["evidence"].get("objects", 0) for group in groups)
    return {"groups": len(groups), "kept_groups": len(groups_in(plan)), "sites": sum(len(group["sites"]) for group in groups),
            "objects": allocated["objects"], "routed_share": routed / max(1, allocated["objects"])}


def said(remedy, least):
    """The effect of a remedy; None if it has had fewer rounds than a verdict takes."""
    cpu = remedy["measures"]["cpu_ms"]
    return effect(cpu) if cpu["pairs"] >= least else None


KEPT = ("decision", "sentence", "winner", "plan", "whole_plan", "plan_on_pages", "cpu_ms", "group_pairs", "seconds")


def measured_advice(measurement):
    remedies = [remedy for remedy in measurement["remedies"] if "failure" not in remedy]
    least = measurement["least_rounds"]
    return {
        **{key: measurement[key] for key in KEPT},
        "no_plan": measurement.get("no_plan") or "",
        "page_option": next((r["option"] for r in remedies if r["name"] == measurement["page_policy"]), ""),
        "rounds": [measurement[stage]["rounds"] for stage in ("screen", "confirmation")],
        "groups": [{key: group[key] for key in ("verdict", "ratio", "interval")} for group in measurement["groups"]],
        "remedies": {
            remedy["name"]: {**{key: remedy[key] for key in ("kind", "use", "verdict", "confirmed")},
                             "peak": round(remedy["measures"]["peak_rss_bytes"]["ratio"], 4), "effect": said(remedy, least)}
            for remedy in remedies
        },
        "failures": {r["name"]: r["failure"] for r in measurement["remedies"] if "failure" in r},
    }


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


def by_router(tools):
    """The variables of the router with an empty plan, as malloc/route/text.hpp has it: `ashlar run` starts none for one."""
    return {"LD_PRELOAD": str(tools.ashlar.parent.parent / "lib" / "libashlar-route.so"), "ASHLAR_ROUTE": "route 1\n"}


def by_plan(tools, case, command, plan, *options):
    """The variables that route a program by a plan, as `ashlar run --print` gives them."""
    return rounds.variables(ashlar(tools, case, "run", *options, "--plan", plan, "--print", "--", *command).stdout)


def sides_of(tools, case, command, advice, plan, whole):
    """The program as it is, under each remedy of the advice, and by plans: the one that is written, the whole, an empty one."""
    sides = {rounds.PLAIN: {}}
    without_plan = {name: remedy for name, remedy in advice["remedies"].items() if remedy["kind"] in WITHOUT_PLAN}
    sides |= {name: rounds.variables(remedy["use"]) for name, remedy in without_plan.items()}
    sides[EMPTY] = by_router(tools)
    if advice["plan_facts"]["groups"]:
        sides[WHOLE] = by_plan(tools, case, command, whole)
    if 0 < advice["plan_facts"]["kept_groups"] < advice["plan_facts"]["groups"]:
        sides[PLAN] = by_plan(tools, case, command, plan)
    if advice["plan_facts"]["kept_groups"] and advice["plan_on_pages"]:
        sides[ON_PAGES] = by_plan(tools, case, command, plan, "--option", advice["page_option"])
    return {name: {**case.environment, **environment} for name, environment in sides.items()}


def compared_sides(sides):
    """Each side against the program as it is; plans and huge pages against libashlar.so; the whole plan against an empty one."""
    return [*((side, rounds.PLAIN) for side in sides if side != rounds.PLAIN),
            *((side, HEAP) for side in (EMPTY, WHOLE, PLAN, ON_PAGES, HUGE)), (WHOLE, EMPTY)]


def start_of(case, command, sides, seed):
    """The milliseconds that the program takes to tell its version, as it is, under libashlar.so, and by plans."""
    few = {name: sides[name] for name in (rounds.PLAIN, HEAP, EMPTY, WHOLE) if name in sides}
    try:
        return rounds.compare([command[0], "--version"], few, (), START_SECONDS, seed)["ms"]
    except rounds.Failed:
        return {}


def measure(tools, case):
    """Everything about one program."""
    began = time.monotonic()
    case.compile(tools.folder / "drivers")
    plan, whole = tools.folder / case.name / "plan", tools.folder / case.name / "whole.plan"
    advice = advice_of(tools, case, plan, whole)
    command = case.command(input_of(tools, case, HELD_OUT), tools.folder / "drivers")
    sides = sides_of(tools, case, command, advice, plan, whole)
    try:
        found = rounds.compare(command, sides, compared_sides(sides), tools.seconds, case.name)
    except rounds.Failed as why:
        raise Failed(f"{case.name}: {why}") from None
    for remedy in advice["remedies"].values():
        del remedy["use"]  # the paths of this machine
    return {"heading": case.heading, "own_allocator": case.own_allocator, "advice": advice, "found": found,
            "start": start_of(case, command, sides, case.name), "seconds": round(time.monotonic() - began)}
