# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library as one header, which a URL can include, and its module are committed and agree with the sources."""
from release import module
from release.single_header import FOLDER, SINGLE, Library

RULE = f"{FOLDER}/ and {module.FILE} are what scripts/release/single_header.py and module.py write"


def check(tree):
    if not tree.has("include/ashlar/base/config.hpp"):
        return
    made = {f"{FOLDER}/{name}": text for name, text in Library(tree.root).committed().items()}
    made[module.FILE] = module.interface(tree.root)
    for path, text in made.items():
        if not tree.has(path) or (tree.root / path).read_text() != text:
            yield f"{path}:1: not made of these sources; run ./dev format"


SOURCES = {f"include/{name}": "" for name in SINGLE if not name.endswith("/")} | {
    "include/ashlar/fwd.hpp": "", "include/ashlar/base/config.hpp": "#define ASHLAR_VERSION_MAJOR 1\n"}
PLANTED = [SOURCES, SOURCES | {f"{FOLDER}/ashlar_all.hpp": "#pragma once\n", module.FILE: "module;\n"}]
CLEAN = [{"include/ashlar/base/a.hpp": ""}]
