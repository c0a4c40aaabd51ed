# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Failures that are expected of tests of others, with their reasons: expected_failures.txt."""
from pathlib import Path

LIST = Path(__file__).resolve().parent / "expected_failures.txt"


def expected_failures(level):
    """Returns the reasons by suite/test, of those that fail at this level."""
    reasons = dict(line.split(None, 1) for line in LIST.read_text().splitlines() if line and not line.startswith("#"))
    at_all_levels = {name: reason for name, reason in reasons.items() if "@" not in name}
    at_this = {name.removesuffix(f"@{level}"): reason for name, reason in reasons.items() if name.endswith(f"@{level}")}
    return at_all_levels | at_this


def judge(name, result, reason):
    """Returns the word for the tally; prints what was not expected."""
    if result == "passed":
        if reason:
            print(f"{name}: passes, though it is expected to fail: {reason}", flush=True)
        return "passed unexpectedly" if reason else "passed"
    if reason:
        return "failed as expected"
    print(f"{name}: {result}", flush=True)
    return "failed"
