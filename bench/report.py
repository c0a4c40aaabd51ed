#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the tables of docs/benchmarks.md, between its markers, and docs/plots/*.svg from bench/results/*.json."""

import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True

from support import plot, summary
from support.questions import QUESTIONS

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"


def section(result, question):
    parts = [f"{summary.conditions(result)}."]
    parts += [summary.as_markdown(table) for table in summary.tables_of(result, question)]
    parts += [f"Not measured: {peer} ({reason})." for peer, reason in result["skipped"].items()]
    parts.append(f"![{question.title}](plots/{result['bench']}.svg)")
    return "\n\n".join(parts)


def filled(page, name, content):
    """The page with what stands between the markers of `name` replaced."""
    markers = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not markers.search(page):
        sys.exit(f"bench/report.py: docs/benchmarks.md has no markers for {name}")
    return markers.sub(lambda found: f"{found.group(1)}\n{content}\n\n{found.group(2)}", page)


def main():
    page = PAGE.read_text()
    (PAGE.parent / "plots").mkdir(exist_ok=True)
    for name, question in QUESTIONS.items():
        source = ROOT / "bench" / "results" / f"{name}.json"
        if not source.exists():
            print(f"no bench/results/{name}.json yet: bench/run {name}")
            continue
        result = json.loads(source.read_text())
        page = filled(page, name, section(result, question))
        (PAGE.parent / "plots" / f"{name}.svg").write_text(plot.svg(result, question))
        print(f"docs/benchmarks.md: {name}; docs/plots/{name}.svg")
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
