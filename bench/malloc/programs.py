# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one program under one malloc and prints what it took, as one JSON line.

malloc_programs <program> <malloc> [--short]     processor and wall time, peak memory, page faults; its output is compared
malloc_programs --cells                          which programs and mallocs there are, and which are missing
"""

import hashlib
import json
import pathlib
import platform
import shutil
import sys

from support import sample_programs

from . import launcher, peers, scripts, workloads

ALL = {program.name: program for program in (*workloads.PROGRAMS, workloads.START)}


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


class Inputs:
    """The folders in which the programs run, made once for each version of what makes them."""

    def __init__(self, beside):
        self.beside = beside
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
        run = launcher.launch(self.beside, program.command(folder), library, output, program.environment, times)
        return run, hashlib.sha256(output.read_bytes()).hexdigest()[:16]

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


def measure(program, peer, inputs, times):
    library = launcher.library_for(peer)
    inputs.warm(program)
    run, printed = inputs.run(program, library, times)
    if not inputs.is_expected(program, library, printed):
        sys.exit(f"{program.name} under {peer.what} prints something else than under glibc")
    return launcher.measured(inputs.beside, program.name, peer, run)


def main(arguments, beside):
    known = {peer.name: peer for peer in peers.PEERS}
    if arguments == ["--cells"]:
        print(json.dumps(cells()))
    elif len(arguments) >= 2 and arguments[0] in ALL and arguments[1] in known:
        program = ALL[arguments[0]]
        if program.missing():
            launcher.skip(program.missing())
        times = min(program.times, 20) if "--short" in arguments else program.times
        print(json.dumps(measure(program, known[arguments[1]], Inputs(beside), times)))
    else:
        sys.exit(__doc__)
