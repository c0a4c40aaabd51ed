# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library as one header is committed, so that a URL can include it, and agrees with the sources."""
from release.single_header import FOLDER, SINGLE, Library

RULE = f"{FOLDER}/ is what scripts/release/single_header.py writes"


def check(tree):
    if not tree.has("include/ashlar/base/config.hpp"):
        return
    for name, text in Library(tree.root).committed().items():
        path = tree.root / FOLDER / name
        if not path.is_file() or path.read_text() != text:
            yield f"{FOLDER}/{name}:1: not made of these sources; run ./dev format"


SOURCES = {f"include/{name}": "" for name in SINGLE if not name.endswith("/")} | {
    "include/ashlar/base/config.hpp": "#define ASHLAR_VERSION_MAJOR 1\n"}
PLANTED = [SOURCES, SOURCES | {f"{FOLDER}/ashlar_all.hpp": "#pragma once\n"}]
CLEAN = [{"include/ashlar/base/a.hpp": ""}]
