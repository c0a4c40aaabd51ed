#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What does a level of checking cost? Nanoseconds, and instructions as callgrind counts them, of levels_<level>.

levels <resource>_ns <workload> <level>             one cell, one JSON line
levels <resource>_instructions <workload> <level>   the same: two runs under callgrind, their difference
levels --cells                                      which cells there are
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LEVELS = ("fast", "checked", "hardened")
METRICS = ("instructions", "ns")
SKIPPED = 77
SHORT, LONG = 1, 2  # windows


def program_of(level):
    path = HERE / f"levels_{level}"
    if not path.exists():
        sys.exit(f"no {path.name} beside {__file__}: start the copy in the build directory")
    return str(path)


def answer_of(command):
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def cells():
    """Each resource is two groups, one a metric; the levels of a workload are neighbours, so that runs interleave."""
    described = [answer_of([program_of(level), "--cells"]) for level in LEVELS]
    found = []
    for metric in METRICS:
        for of_levels in zip(*(each["cells"] for each in described), strict=True):
            for cell in of_levels:
                group = f"{cell['group']}_{metric}"
                found.append(dict(cell, group=group, arguments=[group, *cell["arguments"][1:]]))
    return {"compiler": described[0]["compiler"], "cells": found}


def instructions_of(command):
    """Instructions of a whole process, and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind"
        answer = answer_of(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command])
        totals = [line for line in out.read_text().splitlines() if line.startswith(("summary:", "totals:"))]
        return int(totals[0].split()[1]), answer


def counted(resource, workload, level):
    command = [program_of(level), resource, workload, "--windows"]
    (few, _), (many, answer) = (instructions_of([*command, str(windows)]) for windows in (SHORT, LONG))
    return {"peer": level, "instructions": round((many - few) / ((LONG - SHORT) * answer["pairs_per_window"]), 2)}


def measure(group, workload, level, *options):
    resource, metric = group.rsplit("_", 1)
    if metric == "ns":
        return answer_of([program_of(level), resource, workload, *options])
    if subprocess.run(["which", "valgrind"], capture_output=True, check=False).returncode != 0:
        print("skipped: no valgrind on this machine", file=sys.stderr)
        sys.exit(SKIPPED)
    return counted(resource, workload, level)


def main(arguments):
    if arguments == ["--cells"]:
        print(json.dumps(cells()))
    elif len(arguments) >= 3:
        print(json.dumps(measure(*arguments)))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
