# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program of mimalloc-bench under one malloc and prints what it took, as one JSON line.

malloc_suite <program> <malloc>     seconds, processor and wall time, peak memory, page faults
malloc_suite --cells                which programs and mallocs there are, and which are missing
malloc_security <malloc>            how many of its security programs the malloc catches
malloc_security --cells             which mallocs there are

ASHLAR_BENCH_SUITE names its folder, built: the programs are in out/bench, their inputs in bench.
"""

import json
import os
import pathlib
import platform
import re
import sys

from . import launcher, peers, security, suite_programs

WHERE = "ASHLAR_BENCH_SUITE"


def folder():
    """The suite's folder, or None where none is named."""
    return pathlib.Path(os.environ[WHERE]).resolve() if os.environ.get(WHERE) else None


def folder_or_skip():
    return folder() or launcher.skip(f"{WHERE} names no folder")


def described(cells, skipped):
    compiler = platform.freedesktop_os_release().get("PRETTY_NAME", "an unknown distribution")
    return {"compiler": compiler, "skipped": skipped, "cells": cells}


def cell(group, peer, *arguments):
    return {"arguments": [*arguments, peer.name], "peer": peer.name, "what": peer.what, "group": group, "variant": "",
            "rival": True}


def suite_cells():
    """All mallocs in every program, the secure ones in the few that tell the price of checks."""
    suite = folder()
    if suite is None:
        return described([], {"mimalloc-bench": f"{WHERE} names no folder"})
    present = [each for each in suite_programs.PROGRAMS if each.executable(suite).exists()]
    cells = [
        cell(program.name, peer, program.name)
        for program in present
        for peer in (peers.EVERY.values() if program.with_secure else peers.FAST)
    ]
    return described(cells, {each.name: "not built" for each in suite_programs.PROGRAMS if each not in present})


def seconds_of(program, run, output):
    """What the program tells of itself, where it runs for a fixed time; else the wall time."""
    if not program.told:
        return run["wall_ms"] / 1000
    found = re.search(program.told, output.read_text(errors="replace"))
    if not found:
        sys.exit(f"{program.name} prints no {program.told}")
    return program.seconds(float(found.group(1)))


def command_of(program, suite, beside):
    """The command that replaces a shell with what the program reads as its input."""
    command = program.command(suite)
    if not program.stdin:
        return command
    (beside / "malloc_suite_input").write_text(program.stdin)
    return ["/bin/sh", "-c", 'exec "$0" <"$1"', *command, beside / "malloc_suite_input"]


def measure(program, peer, beside):
    output = beside / "malloc_suite_output"
    command = command_of(program, folder_or_skip(), beside)
    run = launcher.launch(beside, command, launcher.library_for(peer), output, times=program.times)
    return launcher.measured(beside, program.name, peer, {"seconds": seconds_of(program, run, output), **run})


def main(arguments, beside):
    programs = {program.name: program for program in suite_programs.PROGRAMS}
    if arguments == ["--cells"]:
        print(json.dumps(suite_cells()))
    elif len(arguments) >= 2 and arguments[0] in programs and arguments[1] in peers.EVERY:
        print(json.dumps(measure(programs[arguments[0]], peers.EVERY[arguments[1]], beside)))
    else:
        sys.exit(__doc__)


def security_main(arguments, beside):
    if arguments == ["--cells"]:
        print(json.dumps(described([cell("security", peer) for peer in peers.EVERY.values()], {})))
    elif arguments and arguments[0] in peers.EVERY:
        peer = peers.EVERY[arguments[0]]
        caught = security.caught_by(launcher.library_for(peer), folder_or_skip() / "out" / "bench" / "security")
        print(json.dumps(launcher.measured(beside, "security", peer, caught)))
    else:
        sys.exit(__doc__)
