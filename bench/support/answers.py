# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fills the figures and plots of the page of answers from results.

A figure is {bench/group/variant/peer}, or {bench/group/variant/peer:field} for another column than the metric. A plot is
!{bench/groups/variants}, with commas between groups and between variants; it shows all peers. A variant may be empty.
"""

import dataclasses
import re
import textwrap

from support import plot, summary
from support.questions import QUESTIONS

FIGURE = re.compile(r"(?<!!)\{(\w+)/(\w+)/([\w-]*)/(\w+)(?::(\w+))?\}")
PLOT = re.compile(r"!\{(\w+)/([\w,]+)/([\w,-]*)\}")


@dataclasses.dataclass
class Page:
    text: str
    plots: dict  # name -> SVG


def column_of(question, group, field):
    """The column with that field; the group's metric where no field is named."""
    columns = [question.metric_of(group), *question.columns]
    return next(column for column in columns if field in (None, column.field))


def figure(known, name, group, variant, peer, field):
    rows = summary.rows_of(known[name], QUESTIONS[name], group, variant)
    row = next((row for row in rows if row.peer == peer), None)
    if row is None:
        raise KeyError(f"bench/answers.md: no {name}/{group}/{variant}/{peer} in the results")
    column = column_of(QUESTIONS[name], group, field)
    return f"{summary.median_of(row.cell, column):.{column.digits}f}"


def drawing(known, name, groups, variants):
    brief = dataclasses.replace(
        QUESTIONS[name],
        plot_groups=tuple(groups.split(",")),
        plot_variants=tuple(filter(None, variants.split(","))),
        plot_notes=(),
    )
    return plot.svg(known[name], brief)


def wrapped(paragraph):
    """The paragraph in lines of equal length, which its figures have shifted."""
    return textwrap.fill(paragraph, 120, break_long_words=False, break_on_hyphens=False)


def filled(template, known):
    plots = {}

    def plotted(found):
        name = found.group(1)
        plots[name] = drawing(known, *found.groups())
        return f"![{name}](plots/answers/{name}.svg)"

    text = PLOT.sub(plotted, template)
    text = FIGURE.sub(lambda found: figure(known, *found.groups()), text)
    return Page("\n\n".join(wrapped(paragraph) for paragraph in text.strip().split("\n\n")) + "\n", plots)
