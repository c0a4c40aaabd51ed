#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many instructions does an allocation and its free take, by workload of engine_workloads?

heap_instructions <workload> <unsized|sized> <peer>     one cell, one JSON line: two runs under callgrind, their difference
heap_instructions --cells                               which cells there are
heap_instructions --table [unsized|sized] [peer...]     all workloads of some peers, one line each
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(__file__).resolve().parent / "engine_workloads"
SKIPPED = 77
SHORT, LONG = 1, 5  # windows
FREES = ("unsized", "sized")


def skip(reason):
    print(f"skipped: {reason}", file=sys.stderr)
    sys.exit(SKIPPED)


def cells():
    """The cells of engine_workloads, without its tables of the first window and of the peak."""
    text = subprocess.run([PROGRAM, "--cells"], capture_output=True, check=True, text=True).stdout
    described = json.loads(text)
    described["cells"] = [
        dict(cell, group=f"{cell['variant']}_frees", variant=cell["group"])
        for cell in described["cells"]
        if cell["variant"] in FREES
    ]
    return described


def files_of(peer):
    """The program that has the peer's row, and the library it is preloaded with, or ''."""
    done = subprocess.run([PROGRAM, peer], capture_output=True, check=False, text=True)
    if done.returncode == SKIPPED:
        skip(done.stderr.strip().removeprefix("skipped: "))
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout.split("\n")[:2]


def count(program, library, cell, windows):
    """Instructions of a whole process, and what it printed; no instructions where callgrind could not run it."""
    environment = dict(os.environ)
    if library:  # the program would preload it itself, by starting again, which callgrind does not follow
        environment |= {"LD_PRELOAD": library, "ASHLAR_BENCH_PRELOADED": "1"}
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, *cell, "--windows", str(windows)]
        done = subprocess.run(command, capture_output=True, check=False, text=True, env=environment)
        if done.returncode != 0 or not done.stdout:
            return None, done.stderr
        totals = [line for line in out.read_text().splitlines() if line.startswith(("summary:", "totals:"))]
        return int(totals[0].split()[1]), json.loads(done.stdout.splitlines()[-1])


def measure(workload, frees, peer):
    program, library = files_of(peer)
    found = [count(program, library, (workload, frees, peer), windows) for windows in (SHORT, LONG)]
    for instructions, said in found:
        if instructions is None and library:  # it may be built for a processor that valgrind does not know, or want all memory
            skip(f"{pathlib.Path(library).name} does not run under callgrind")
        if instructions is None:
            sys.exit(said)
    (few, short), (many, long) = found
    pairs = (LONG - SHORT) * long["pairs_per_window"]
    kept = {key: long[key] for key in ("peer", "workload", "frees", "malloc", "malloc_version", "compiler")}
    return kept | {"instructions": round((many - few) / pairs, 2)}


def table(frees, peers):
    described = [cell for cell in cells()["cells"] if cell["group"] == f"{frees}_frees"]
    workloads = list(dict.fromkeys(cell["variant"] for cell in described))
    known = dict.fromkeys(cell["peer"] for cell in described)
    print(f"{frees:14}" + "".join(f"{workload:>14}" for workload in workloads))
    for peer in peers or known:
        line = ""
        for workload in workloads:
            command = [sys.executable, __file__, workload, frees, peer]
            done = subprocess.run(command, capture_output=True, check=False, text=True)
            line += f"{json.loads(done.stdout)['instructions']:14.1f}" if done.returncode == 0 else f"{'-':>14}"
        print(f"{peer:14}{line}", flush=True)


def main(arguments):
    if not PROGRAM.exists():
        sys.exit(f"no {PROGRAM.name} beside {__file__}: start the copy in the build directory")
    if arguments == ["--cells"]:
        print(json.dumps(cells()))
        return
    if subprocess.run(["which", "valgrind"], capture_output=True, check=False).returncode != 0:
        skip("no valgrind on this machine")
    if arguments[:1] == ["--table"]:
        frees = arguments[1] if arguments[1:2] and arguments[1] in FREES else "unsized"
        table(frees, [each for each in arguments[1:] if each not in FREES])
    elif len(arguments) == 3:
        print(json.dumps(measure(*arguments)))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
