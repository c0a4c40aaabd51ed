#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds up the results of a test run: JUnit files written by ctest, GoogleTest's own, and a list of build steps.

usage: tally.py <folder of results> <seconds that the run took>

Prints what failed, how long each configuration took, then one closing line. Exits non-zero if anything failed or
nothing was run.
"""
import sys
import xml.etree.ElementTree as xml
from pathlib import Path


def results_of_steps(path):
    """Yields (name, outcome) for each line `passed|failed <name>`."""
    for line in path.read_text().splitlines():
        outcome, name = line.split(" ", 1)
        yield name, outcome


def outcome_of_gtest(case):
    """The same in GoogleTest's words."""
    if case.find("failure") is not None:
        return "failed"
    return "passed" if case.get("result") == "completed" else "skipped"


def outcome_of(case):
    """A test that chose not to run is skipped; one that could not is failed."""
    skipped = case.find("skipped")
    chose = case.get("status") == "disabled" or (skipped is not None and skipped.get("message").startswith("SKIP_"))
    return "skipped" if chose else "passed" if case.get("status") == "run" else "failed"


def tests_of_share(configuration, share):
    """Returns [(name, outcome)] of a process that ran many tests, or None where it left no results."""
    path = configuration / "gtest" / f"{share}.xml"
    if not path.exists():
        return None
    cases = xml.parse(path).getroot().iter("testcase")
    return [(f"{share}.{case.get('classname')}.{case.get('name')}", outcome_of_gtest(case)) for case in cases]


def results_of_tests(path, configuration):
    """Yields (name, outcome) for each test of one configuration; a file without tests is one failure.

    A process that ran many counts by them, and as one more failure where it failed otherwise, by a crash say.
    """
    cases = list(xml.parse(path).getroot().iter("testcase"))
    if not cases:
        yield f"{path.stem}: no tests were run", "failed"
    for case in cases:
        whole = outcome_of(case)
        each = tests_of_share(configuration, case.get("name"))
        if each is None:
            each = [(case.get("name"), whole)]
        elif whole == "failed" and all(outcome != "failed" for _, outcome in each):
            each.append((case.get("name"), "failed"))
        yield from ((f"{path.stem}: {name}", outcome) for name, outcome in each)


def seconds_by_configuration(path):
    """Returns {configuration: {part: [seconds, the processor's]}} of lines `configuration part real user system`."""
    found = {}
    for line in path.read_text().splitlines():
        configuration, part, *seconds = line.split(" ")
        real, user, system = map(float, seconds)
        parts = found.setdefault(configuration, {})
        known = parts.get(part, (0, 0))
        parts[part] = (known[0] + real, known[1] + user + system)
    return found


def print_seconds(found, whole):
    """A line for each configuration: how long it was built and tested, and what of the processor's time that took."""
    print(f"{'seconds':12}{'build':>8}{'of cpu':>8}{'tests':>8}{'of cpu':>8}")
    for configuration, parts in found.items():
        columns = [f"{seconds:8.0f}" for part in ("build", "tests") for seconds in parts.get(part, (0, 0))]
        print(f"{configuration:12}{''.join(columns)}")
    cpu = sum(seconds[1] for parts in found.values() for seconds in parts.values())
    print(f"{'all of it':12}{whole:8.0f}{cpu:8.0f}")


def main():
    folder = Path(sys.argv[1])
    results = []
    if (folder / "steps").exists():
        results += results_of_steps(folder / "steps")
    for path in sorted(folder.glob("*.xml")):  # <configuration>.xml, or <configuration>.<room>.xml
        results += results_of_tests(path, folder.parent / path.name.split(".")[0])
    count = {outcome: sum(o == outcome for _, o in results) for outcome in ("passed", "failed", "skipped")}
    for name, outcome in results:
        if outcome == "failed":
            print(f"failed: {name}")
    if (folder / "seconds").exists():
        print_seconds(seconds_by_configuration(folder / "seconds"), float(sys.argv[2]))
    skipped = f", {count['skipped']} skipped" if count["skipped"] else ""
    print(f"{count['passed']} passed, {count['failed']} failed{skipped}")
    return 0 if count["passed"] and not count["failed"] else 1


if __name__ == "__main__":
    sys.exit(main())
