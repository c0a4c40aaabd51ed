#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much machine code is a heap?

heap_code_size <peer>       one JSON line: bytes of .text, of .rodata with it, and, for ashlar, of what one call inlines
heap_code_size --cells      which peers there are
"""

import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
PEERS = {
    "glibc": "malloc, glibc (malloc.o of libc.a)",
    "mimalloc": "malloc, mimalloc",
    "jemalloc": "malloc, jemalloc",
    "tcmalloc": "malloc, tcmalloc",
    "rpmalloc": "malloc, rpmalloc",
    "snmalloc": "malloc, snmalloc",
    "ashlar": "ashlar::local_heap, every entry point, -O2",
    "ashlar_called": "ashlar::local_heap, as a malloc: allocate, free, sized free, -O3",
}
OURS = {"ashlar": "libheap_code_size.so", "ashlar_called": "libengine_called_heap.so"}


def skip(reason):
    print(f"skipped: {reason}", file=sys.stderr)
    sys.exit(SKIPPED)


def run(*command):
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def library_of(peer):
    if peer in OURS:
        return HERE / OURS[peer]
    done = subprocess.run([HERE / "engine_workloads", peer], capture_output=True, check=False, text=True)
    if done.returncode != 0:
        skip(done.stderr.strip().removeprefix("skipped: "))
    return done.stdout.split("\n")[1]


def section_bytes(listing, *prefixes):
    found = re.findall(r"^(\.\S+)\s+(\d+)", listing, re.MULTILINE)
    return sum(int(size) for name, size in found if name.startswith(prefixes))


def listing_of(peer):
    """What `size -A` says of the peer; of glibc only the allocator, which is one object of its static library."""
    if peer != "glibc":
        return run("size", "-A", library_of(peer))
    archive = run("cc", "-print-file-name=libc.a").strip()
    if not pathlib.Path(archive).exists():
        skip("no libc.a on this machine")
    whole = run("size", "-A", archive)
    return re.search(r"^malloc\.o\b.*?(?=^\S+\.o\b)", whole, re.MULTILINE | re.DOTALL).group(0)


def inlined_bytes():
    """What stands at each place of a call: an entry point is that and a return."""
    listing = run("nm", "-D", "-S", "--defined-only", HERE / OURS["ashlar"])
    sizes = {name: int(size, 16) for size, name in re.findall(r"^\S+ (\S+) T (heap_\w+)$", listing, re.MULTILINE)}
    return {
        "allocate_bytes": sizes["heap_allocate"],
        "allocate_64_bytes": sizes["heap_allocate_64"],
        "free_bytes": sizes["heap_deallocate"],
        "sized_free_bytes": sizes["heap_deallocate_sized"],
    }


def measure(peer):
    listing = listing_of(peer)
    answer = {"peer": peer, "text_bytes": section_bytes(listing, ".text")}
    answer["with_constants_bytes"] = section_bytes(listing, ".text", ".rodata")
    return answer | (inlined_bytes() if peer == "ashlar" else {})


def cells():
    compiler = json.loads(run(HERE / "engine_workloads", "--cells"))["compiler"]
    cell = {"group": "text", "variant": "", "rival": True}
    return {
        "compiler": compiler,
        "cells": [dict(cell, peer=peer, what=what, arguments=[peer]) for peer, what in PEERS.items()],
    }


def main(arguments):
    if arguments == ["--cells"]:
        print(json.dumps(cells()))
    elif len(arguments) == 1 and arguments[0] in PEERS:
        print(json.dumps(measure(arguments[0])))
    else:
        sys.exit(__doc__ + "\npeers: " + " ".join(PEERS))


if __name__ == "__main__":
    main(sys.argv[1:])
