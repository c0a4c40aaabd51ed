#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the library as one header.

usage: scripts/release/single_header.py <output.hpp> <ashlar/room/file.hpp or ashlar/room/>…
       scripts/release/single_header.py --committed        ashlar_single.hpp and ashlar_all.hpp, in single_include/
       scripts/release/single_header.py --all <folder>     these, ashlar_cxx11.hpp and ashlar_core.cpp

ashlar_single.hpp has the pools, arenas, stacks, TLSF, adaptors and faces of ashlar/ashlar.hpp; ashlar_all.hpp has every
public header; ashlar_cxx11.hpp has the headers for C++11, and ashlar_core.cpp what they call. Of the comments these keep
the documentation of public headers.
"""
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(HERE / "scripts"))

from lints.cpp import NOISE  # noqa: E402  (the path is set just above)

FOLDER = "single_include"
INCLUDE = re.compile(r"^\s*#\s*include <(ashlar/[^>]+)>[^\n]*\n", re.MULTILINE)
OPENING = re.compile(r"\A// SPDX-License-Identifier: [^\n]*\n")
ADAPTORS = ("chain", "fallback", "guarding", "limiting", "segregator", "statistics", "synchronized", "tracking")
SINGLE = ["ashlar/base/", "ashlar/os/", "ashlar/resource/", "ashlar/face/",
          *(f"ashlar/adaptor/{name}.hpp" for name in ADAPTORS)]
UNIT = "core.cpp"


def without_comments(text):
    text = NOISE.sub(lambda match: "" if match.group().startswith(("//", "/*")) else match.group(), text)
    return re.sub(r"\n\s*\n", "\n", re.sub(r" +\n", "\n", text))


class Library:
    """The sources below a folder."""

    def __init__(self, root=HERE):
        self.root = root

    def path_of(self, name):
        below = "compiled" if name == UNIT else "compiled/include" if name.startswith("ashlar/cxx11/") else "include"
        return self.root / below / name

    def headers_of(self, names):
        """The named headers, and those of named rooms."""
        for name in names:
            if name.endswith("/"):
                yield from sorted(f"{name}{each.name}" for each in self.path_of(name).glob("*.hpp"))
            else:
                yield name

    def in_order(self, names):
        """Each header once, after all that it includes: also after those of conditional includes, since such a header
        says itself for which system it is."""
        done = []

        def visit(name):
            if name in done:
                return
            for included in INCLUDE.findall(self.path_of(name).read_text()):
                visit(included)
            done.append(name)

        for name in names:
            visit(name)
        return done

    def body_of(self, name, has_comments):
        text = OPENING.sub("", self.path_of(name).read_text())
        text = INCLUDE.sub("", text).replace("#pragma once\n", "")
        return f"\n// {name}\n{text if has_comments and '/detail/' not in name else without_comments(text)}"

    def version(self):
        return ".".join(re.findall(r"#define ASHLAR_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)",
                                   self.path_of("ashlar/base/config.hpp").read_text()))

    def as_one(self, names):
        is_unit = UNIT in names
        start = ("// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"
                 f"// ashlar {self.version()} as one file, made by scripts/release/single_header.py.\n"
                 f"{'' if is_unit else '#pragma once'}\n")
        return start + "".join(self.body_of(name, not is_unit) for name in self.in_order(self.headers_of(names)))

    def committed(self):
        """{name: text}."""
        rooms = sorted(f"ashlar/{each.name}/" for each in (self.root / "include/ashlar").iterdir()
                       if each.is_dir() and each.name != "detail")
        return {"ashlar_single.hpp": self.as_one(SINGLE), "ashlar_all.hpp": self.as_one(rooms)}

    def all(self):
        faces = [name for name in self.headers_of(["ashlar/cxx11/"]) if name != "ashlar/cxx11/define_pools.hpp"]
        return self.committed() | {"ashlar_cxx11.hpp": self.as_one(faces), "ashlar_core.cpp": self.as_one([UNIT])}


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def main(arguments):
    if arguments == ["--committed"]:
        write(HERE / FOLDER, Library().committed())
    elif len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    elif arguments[0] == "--all":
        write(Path(arguments[1]), Library().all())
    else:
        target = Path(arguments[0])
        write(target.parent, {target.name: Library().as_one(arguments[1:])})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
