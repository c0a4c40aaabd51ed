#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a version into every file that names it, and into single_include/.

usage: set_version.py <major.minor.patch>

A changelog whose newest heading has a date gets a new one above it.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import single_header  # noqa: E402  (the path is set just above)
from lints.version import PLACES, parts_of, pattern_of  # noqa: E402

CHANGELOG = "CHANGELOG.md"
RELEASED = re.compile(r"\A(?:(?!\n## )[\s\S])*?\n(?=## \[[\d.]+\] - \d)")


def with_version(path, text, version):
    """Returns the text with the version in each of its places."""
    if path == CHANGELOG:
        text = RELEASED.sub(lambda head: f"{head.group(0)}## [{'.'.join(version)}] - unreleased\n\n", text, count=1)
    for place in PLACES[path]:
        number = place[1].join(parts_of(path, place, version))
        text = pattern_of(*place).sub(rf"\g<1>{number}", text)
    return text


def main():
    if len(sys.argv) != 2 or not re.fullmatch(r"\d+\.\d+\.\d+", sys.argv[1]):
        sys.exit("usage: set_version.py <major.minor.patch>")
    version = sys.argv[1].split(".")
    for path in PLACES:
        file = ROOT / path
        file.write_text(with_version(path, file.read_text(encoding="utf-8"), version), encoding="utf-8")
    single_header.main(["--committed"])


main()
