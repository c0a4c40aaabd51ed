#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs tests that others wrote on this library's classes: those of libstdc++, libc++ and Boost.Pool.

They are fetched when this runs and none of their code is kept here. A test that fails must be in expected_failures.txt,
with the reason; one that is there and passes is reported as well.
"""
import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from expected import expected_failures, judge
from fetch import unpack
from suites import HERE, SUITES, BoostPool

ROOT = HERE.parent.parent
FLAGS = ["-std=c++20", "-g1", "-O1", "-w", "-pthread", f"-I{ROOT / 'include'}"]


def outcome(suite, source, include_flags, level, folder):
    """Returns "passed", or how the test failed and what it said."""
    program = folder / "program"
    compiles_only = "dg-do compile" in source.read_text() or "main" not in source.read_text()
    built = subprocess.run([*suite.compiler, *FLAGS, f"-DASHLAR_CHECKING={level}", *include_flags, source, "-o", program,
                            "-c" if compiles_only else "-ldl"], capture_output=True, text=True, check=False)
    if built.returncode != 0:
        errors = [line for line in built.stderr.splitlines() if "error" in line]
        return "does not build: " + (errors or [built.stderr])[0]
    if compiles_only:
        return "passed"
    try:
        ran = subprocess.run([program], capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return "does not end"
    return "passed" if ran.returncode == 0 else f"failed ({ran.returncode}): {ran.stderr.strip()[-300:]}"


def run_test(suite, test, include_flags, level):
    text = suite.adapt(test.read_text())
    if text is None:
        return None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if isinstance(suite, BoostPool):
            suite.write_headers(folder)
        source = folder / f"{test.stem}.cpp"
        source.write_text(text)
        return outcome(suite, source, [f"-I{folder}", *include_flags, f"-I{test.parent}"], level, folder)


def run_suite(suite, arguments, expected):
    tree = unpack(arguments.work, suite.package, suite.patterns, suite.inner)
    include_flags = [f"-I{folder}" for pattern in suite.includes for folder in tree.glob(pattern)]
    tally = Counter()
    for test in sorted(tree.glob(suite.tests)):
        name = f"{suite.name}/{test.parent.name}/{test.stem.removesuffix('.pass')}"
        if arguments.filter in name:
            result = run_test(suite, test, include_flags, arguments.level)
            tally[judge(name, result, expected.get(name)) if result else "of other classes"] += 1
    print(f"{suite.name}, level {arguments.level}: " + ", ".join(f"{n} {word}" for word, n in sorted(tally.items())))
    return tally["failed"] + tally["passed unexpectedly"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=lambda path: Path(path).resolve(), default=ROOT / "build" / "outside_suites",
                        help="where sources are fetched to, about 350 MB")
    parser.add_argument("--level", type=int, choices=(0, 1, 2), default=1, help="ASHLAR_CHECKING")
    parser.add_argument("--filter", default="", help="only tests whose name contains this")
    arguments = parser.parse_args()
    expected = expected_failures(arguments.level)
    sys.exit(1 if sum(run_suite(suite, arguments, expected) for suite in SUITES) else 0)


if __name__ == "__main__":
    main()
