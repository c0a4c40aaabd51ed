# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one program under one malloc and prints what it took, as one JSON line.

malloc_programs <program> <malloc> [--short]     processor and wall time, peak memory, page faults; its output is compared
malloc_programs --cells                          which programs and mallocs there are, and which are missing
"""

import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

from support import sample_programs

from . import peers, scripts, workloads

SKIPPED = 77
ALL = {program.name: program for program in (*workloads.PROGRAMS, workloads.START)}


def skip(reason):
    print(f"skipped: {reason}", file=sys.stderr)
    sys.exit(SKIPPED)


def cells():
    """A cell for each program and malloc; the programs that this machine lacks, with the reason."""
    present = [program for program in ALL.values() if not program.missing()]
    return {
        "compiler": platform.freedesktop_os_release().get("PRETTY_NAME", "an unknown distribution"),
        "skipped": {program.name: program.missing() for program in ALL.values() if program.missing()},
        "cells": [
            {"arguments": [program.name, peer.name], "peer": peer.name, "what": peer.what, "group": program.name,
             "variant": "", "rival": True}
            for program in present
            for peer in peers.PEERS
        ],
    }


class Launcher:
    """Starts programs from a process so small that its memory is not the program's peak."""

    def __init__(self, beside):
        self.executable = beside / "malloc_programs_launch"
        made_by = b"".join(pathlib.Path(each.__file__).read_bytes() for each in (workloads, scripts, sample_programs))
        self.inputs = beside / "malloc_programs_inputs" / hashlib.sha256(made_by).hexdigest()[:12]

    def folder_of(self, program):
        """The program's inputs, complete or not there."""
        folder = self.inputs / program.name
        if not folder.exists():
            unfinished = self.inputs / f"{program.name}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            program.prepare(unfinished)
            unfinished.rename(folder)
        return folder

    def run(self, program, library, times):
        """What the program took, and a sum of what it printed in the last of its runs."""
        folder = self.folder_of(program)
        output = folder / "output"
        preload = [f"LD_PRELOAD={library}"] if library else []
        command = [self.executable, str(times), output, *preload, "--", *map(str, program.command(folder))]
        without = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "ASHLAR")}
        done = subprocess.run(
            command, capture_output=True, check=False, text=True, env={**without, **program.environment}
        )
        if done.returncode != 0:
            sys.exit(f"{program.name} under {library or 'glibc'}: {done.stderr.strip()}")
        return json.loads(done.stdout), hashlib.sha256(output.read_bytes()).hexdigest()[:16]

    def is_expected(self, program, library, printed):
        """Whether the output is that of the last run under glibc, which is kept."""
        kept = self.folder_of(program) / "expected"
        if not library:
            kept.write_text(printed)
        return kept.read_text() == printed

    def warm(self, program):
        """The first run of a program brings its files into memory, and is not measured."""
        if not (self.folder_of(program) / "expected").exists():
            self.is_expected(program, "", self.run(program, "", 1)[1])


def measure(program, peer, launcher, times):
    library = peers.library_of(peer)
    if library is None:
        skip(f"no {peer.files[0]} on this machine")
    version = peers.told_by(library)
    launcher.warm(program)
    run, printed = launcher.run(program, library, times)
    if not launcher.is_expected(program, library, printed):
        sys.exit(f"{program.name} under {peer.what} prints something else than under glibc")
    name = pathlib.Path(library).name or "libc.so.6"
    return {"program": program.name, "peer": peer.name, "malloc": name, "malloc_version": version, **run}


def main(arguments, beside):
    known = {peer.name: peer for peer in peers.PEERS}
    if arguments == ["--cells"]:
        print(json.dumps(cells()))
    elif len(arguments) >= 2 and arguments[0] in ALL and arguments[1] in known:
        program = ALL[arguments[0]]
        if program.missing():
            skip(program.missing())
        times = min(program.times, 20) if "--short" in arguments else program.times
        print(json.dumps(measure(program, known[arguments[1]], Launcher(beside), times)))
    else:
        sys.exit(__doc__)
