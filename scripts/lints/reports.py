# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The texts of reports in the tables of pages are those that the library prints."""
import re

RULE = "texts of reports in tables of pages are literals of the headers"

COLUMN = "text of the report"
RULER = re.compile(r"^[|\s:-]+$")
JOINED = re.compile(r'"\s*\n\s*"')
# Remarks on the fields of a report, and texts with a part left out or a value put in.
REMARK = re.compile(r"^(?:`|expected |got |count and |exact )|[…<*(]")


def cells_of(row):
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def texts_in(file):
    """The texts of reports in the tables of a page, with their lines."""
    column = None
    for number, line in enumerate(file.lines, 1):
        if not line.startswith("|"):
            column = None
        elif column is None:
            header = cells_of(line)
            column = header.index(COLUMN) if COLUMN in header else -1
        elif column >= 0 and not RULER.match(line):
            for text in cells_of(line)[column].split("; "):
                if not REMARK.search(text):
                    yield number, text


def check(tree):
    printed = "\n".join(JOINED.sub("", file.text) for file in tree.library)
    for file in tree.files:
        if file.path.startswith("docs/") and file.path.endswith(".md"):
            for number, text in texts_in(file):
                if text not in printed:
                    yield file.problem(number, f'no header reports "{text}"')


HEAD = "| fault | kind | text of the report |\n|---|---|---|\n"
SOURCE = 'EXPECTS(a, "freed a block "\n           "twice");\n'
PLANTED = [
    {"docs/a.md": HEAD + "| a | `b` | freed a cell twice |\n", "include/ashlar/base/a.hpp": SOURCE},
    {"docs/a.md": HEAD + "| a | `b` | freed a block twice; got is a number; freed once |\n",
     "include/ashlar/base/a.hpp": SOURCE},
]
CLEAN = [
    {"docs/a.md": HEAD + "| a | `b` | freed a block twice; expected is a size; … *n* times |\n\n| a | b |\n|---|---|\n| c | d |\n",
     "include/ashlar/base/a.hpp": SOURCE},
]
