#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/benchmarks.md, the tables of docs/benchmarks/*.md, docs/advise-programs.md, docs/advise-patches.md,
docs/advise.md and docs/verify-trials.md, and the plots of docs/plots, from bench/results/*.json.

The page of the answers is bench/answers.md with its figures and plots filled in. --check writes nothing and exits with 1
where a page or a plot differs from the results.
"""

import argparse
import pathlib
import re
import sys

sys.dont_write_bytecode = True

from advise import cost_table as costs
from advise import patch_table as patches
from advise import table as advice
from advise import trial_table as trials
from support import answers, plot, summary
from support import results as kept
from support.questions import FOLDER_OF, QUESTIONS

BENCH = pathlib.Path(__file__).resolve().parent
DOCS = BENCH.parent / "docs"


def section(result, question):
    parts = [f"{summary.conditions(result)}."]
    parts += [summary.as_markdown(table) for table in summary.tables_of(result, question)]
    parts += [f"Not measured: {peer} ({reason})." for peer, reason in result["skipped"].items()]
    parts.append(f"![{question.title}](../plots/{result['bench']}.svg)")
    return "\n\n".join(parts)


def filled(page, name, content):
    """The page with what stands between the markers of `name` replaced."""
    markers = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not markers.search(page):
        sys.exit(f"bench/report.py: no page has markers for {name}")
    return markers.sub(lambda found: f"{found.group(1)}\n{content}\n\n{found.group(2)}", page)


def results():
    """The result of each question that has one."""
    for name in QUESTIONS:
        if (result := kept.load(name)) is not None:
            yield name, result
        else:
            print(f"no bench/results/{name}.json yet: ./dev bench {name}")


def reports(known):
    """Every file that the results determine, with its text."""
    pages = {}
    for name, result in known.items():
        path = DOCS / "benchmarks" / f"{FOLDER_OF[name]}.md"
        pages[path] = filled(pages.get(path) or path.read_text(), name, section(result, QUESTIONS[name]))
        yield DOCS / "plots" / f"{name}.svg", plot.svg(result, QUESTIONS[name])
    yield from pages.items()
    page = answers.filled((BENCH / "answers.md").read_text(), known)
    yield DOCS / "benchmarks.md", page.text
    for name, drawing in page.plots.items():
        yield DOCS / "plots" / "answers" / f"{name}.svg", drawing


def advice_pages():
    """The pages of advice on real programs, of its patches and its cost, and of trials of verify, from what has been measured."""
    pages = {"advise_programs": ("advise-programs.md", advice), "advise_patches": ("advise-patches.md", patches),
             "advise_trials": ("verify-trials.md", trials), "advise_cost": ("advise.md", costs)}
    for name, (page, table) in pages.items():
        if (result := kept.load(name)) is not None:
            yield DOCS / page, filled((DOCS / page).read_text(), name, table.markdown(result))


def is_current(path, text):
    return path.exists() and path.read_text() == text


def write(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where something would change")
    arguments = parser.parse_args()
    written = [*reports(dict(results())), *advice_pages()]
    stale = [(path, text) for path, text in written if not is_current(path, text)]
    for path, text in stale:
        print(f"{'stale' if arguments.check else 'written'}: {path.relative_to(BENCH.parent)}")
        if not arguments.check:
            write(path, text)
    sys.exit(1 if arguments.check and stale else 0)


if __name__ == "__main__":
    main()
