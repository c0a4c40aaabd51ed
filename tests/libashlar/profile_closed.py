# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""profile_closed.py <library> <program> <plugin> <other plugin>: a heap profile tells plugins that had one address in
turn apart, and its map names each, though only the last is loaded when it is written."""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

library, program, one, other = sys.argv[1:]
FIRST, SECOND = 200_000, 300_000  # far above the interval: each block is a sample
with tempfile.TemporaryDirectory() as folder:
    environment = os.environ | {"LD_PRELOAD": library, "ASHLAR": f"stats=profile:{folder}/heap,profile_interval=1k"}
    for turns in ([one, other], [other, one, other, one]):
        calls = [f"{plugin}:{FIRST if plugin == one else SECOND}" for plugin in turns]
        done = subprocess.run([program, "closed_plugins", *calls], env=environment, capture_output=True, text=True, check=True)
        if len(set(done.stdout.split())) != 1:
            print(f"the plugins were at several addresses: {done.stdout.split()}")
        samples, maps = pathlib.Path(f"{folder}/heap").read_text().split("\nMAPPED_LIBRARIES:\n")
        ranges = [(*(int(end, 16) for end in line.split()[0].split("-")), line.split()[-1]) for line in maps.splitlines()]
        live, stacks = collections.Counter(), collections.Counter()
        for line in samples.splitlines()[1:]:
            of, *addresses = re.fullmatch(r"\d+: (\d+) \[.*\] @((?: 0x[0-9a-f]+)*)", line).groups()
            innermost = int(addresses[0].split()[0], 16) if addresses[0] else 0
            files = {file for begin, end, file in ranges if begin <= innermost < end}
            for file in files or {"no file"}:
                live[file] += int(of)
                stacks[file] += 1
        expected = {plugin: 4 * turns.count(plugin) * (FIRST if plugin == one else SECOND) for plugin in (one, other)}
        got = {plugin: live[plugin] for plugin in (one, other)}
        if got != expected or live["no file"] or stacks[one] != 1 or stacks[other] != 1:
            sys.exit(f"{live} in {stacks}, expected {expected} in one each, of\n{samples}\n{maps}")
