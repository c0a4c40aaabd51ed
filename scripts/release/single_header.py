#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the library as one header.

usage: scripts/release/single_header.py <output.hpp> <ashlar/room/file.hpp or ashlar/room/>…
       scripts/release/single_header.py --all <folder>     ashlar_single.hpp, ashlar_all.hpp, ashlar_cxx11.hpp
                                                           and ashlar_core.cpp

ashlar_single.hpp has the pools, arenas, stacks, TLSF, adaptors and faces of ashlar/ashlar.hpp; ashlar_all.hpp has every
public header; ashlar_cxx11.hpp has the headers for C++11, and ashlar_core.cpp what they call.
"""
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
ROOT = HERE / "include"
CXX11 = HERE / "compiled" / "include"
INCLUDE = re.compile(r"^\s*#\s*include <(ashlar/[^>]+)>[^\n]*\n", re.MULTILINE)
OPENING = re.compile(r"\A// SPDX-License-Identifier: [^\n]*\n")
SINGLE = ["ashlar/base/", "ashlar/os/", "ashlar/resource/", "ashlar/face/", *(f"ashlar/adaptor/{name}.hpp" for name in (
    "chain", "fallback", "guarding", "limiting", "segregator", "statistics", "synchronized", "tracking"))]


def path_of(name):
    return (CXX11 if name.startswith("ashlar/cxx11/") else ROOT) / name


def headers_of(names):
    """The named headers, and those of named rooms."""
    for name in names:
        if name.endswith("/"):
            yield from sorted(f"{name}{each.name}" for each in path_of(name).glob("*.hpp"))
        else:
            yield name


def in_order(names):
    """Each header once, after all that it includes: also after those of conditional includes, since such a header says
    itself for which system it is."""
    done = []

    def visit(name):
        if name in done:
            return
        for included in INCLUDE.findall(path_of(name).read_text()):
            visit(included)
        done.append(name)

    for name in names:
        visit(name)
    return done


def body_of(name):
    text = OPENING.sub("", path_of(name).read_text())
    text = INCLUDE.sub("", text).replace("#pragma once\n", "")
    return f"\n// {name}\n{text}"


def version():
    return ".".join(re.findall(r"#define ASHLAR_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)",
                               (ROOT / "ashlar/base/config.hpp").read_text()))


def write(target, names, once="#pragma once\n"):
    start = ("// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"
             f"// ashlar {version()} as one file, made by scripts/release/single_header.py.\n{once}")
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    Path(target).write_text(start + "".join(body_of(name) for name in in_order(headers_of(names))))


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--all":
        folder = Path(arguments[1])
        rooms = sorted(f"ashlar/{each.name}/" for each in (ROOT / "ashlar").iterdir()
                       if each.is_dir() and each.name != "detail")
        write(folder / "ashlar_single.hpp", SINGLE)
        write(folder / "ashlar_all.hpp", rooms)
        faces = [name for name in headers_of(["ashlar/cxx11/"]) if name != "ashlar/cxx11/define_pools.hpp"]
        write(folder / "ashlar_cxx11.hpp", faces)
        write(folder / "ashlar_core.cpp", ["../compiled/core.cpp"], once="")
        return 0
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    write(arguments[0], arguments[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
