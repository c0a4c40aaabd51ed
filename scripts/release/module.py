#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the interface of the module `ashlar`: it includes the public headers and exports their names, so header and
module name the same entities and may meet in one program.

usage: scripts/release/module.py          writes compiled/ashlar.cppm; the lint `generated` compares it
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from lints import public  # noqa: E402  (the path is set just above)
from lints.tree import File  # noqa: E402

FILE = "compiled/ashlar.cppm"
# The public namespaces beside ashlar itself.
SPACES = ("fresh", "interprocess", "os", "plan", "pmr", "policy", "site", "study", "test", "trace")
# Members of a specialisation, and deduction guides.
NO_NAME = re.compile(r"^(operator|if|return)$")


def headers(root):
    rooms = (each for each in (root / "include/ashlar").glob("*/*.hpp") if each.parent.name != "detail")
    return [root / "include/ashlar/fwd.hpp", *sorted(rooms)]


def exported(root, files):
    """{namespace: names}; the namespace is empty for ashlar itself."""
    names = defaultdict(set)
    for path in files:
        for _, line, opened in public.lines_in_namespaces(File(root, path.relative_to(root).as_posix())):
            space = opened.removeprefix(public.DIRECTLY).removeprefix("::")
            if not opened.startswith(public.DIRECTLY) or (space and space not in SPACES):
                continue
            if public.NOT_DECLARED.match(line):
                continue
            declared = next((match for match in (each.match(line) for each in public.DECLARED) if match), None)
            if declared and not NO_NAME.match(declared.group(1)) and not line.startswith(("static ", "using namespace")):
                names[space].add(declared.group(1))
    return names


def interface(root=ROOT):
    files = headers(root)
    lines = ["// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception",
             "// The module `ashlar`, made by scripts/release/module.py.", "module;", ""]
    lines += [f"#include <{path.relative_to(root / 'include').as_posix()}>" for path in files]
    lines += ["", "export module ashlar;", ""]
    for space, names in sorted(exported(root, files).items()):
        whole = f"ashlar::{space}" if space else "ashlar"
        lines += [f"export namespace {whole} {{"] + [f"using {whole}::{name};" for name in sorted(names)]
        lines += [f"}}  // namespace {whole}", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    (ROOT / FILE).write_text(interface())
