# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts a program under a malloc, from a process so small that its memory is not the program's peak."""

import json
import os
import pathlib
import subprocess
import sys

from . import peers

SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}", file=sys.stderr)
    sys.exit(SKIPPED)


def library_for(peer):
    """Ends this program where the peer's library is not on this machine."""
    library = peers.library_of(peer)
    if library is None:
        skip(f"no {peer.files[0]} on this machine")
    return library


def environment_without_malloc():
    return {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "ASHLAR")}


def launch(beside, command, library, output, environment=None, times=1):
    """What the command took, the mean of some runs; its standard output is that of the last of them."""
    preload = [f"LD_PRELOAD={library}"] if library else []
    started = [beside / "malloc_programs_launch", str(times), output, *preload, "--", *map(str, command)]
    done = subprocess.run(
        started, capture_output=True, check=False, text=True, env={**environment_without_malloc(), **(environment or {})}
    )
    if done.returncode != 0:
        sys.exit(f"{pathlib.Path(command[0]).name} under {library or 'glibc'}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measured(beside, program, peer, run):
    """The run with the names of what was measured."""
    library = library_for(peer)
    name = pathlib.Path(library).name or "libc.so.6"
    version = peers.version_of(library, beside)
    return {"program": program, "peer": peer.name, "malloc": name, "malloc_version": version, **run}
