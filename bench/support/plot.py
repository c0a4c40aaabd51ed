# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws a result as one SVG: a panel per comparison, a bar per peer, values as text, the whisker from min to max.

Readable on light and dark pages (it brings its own ground for both) and without colours: ours is marked by a bold name,
what is no rival (a floor, a limit, one that never frees) by a hollow bar.
"""

import html
import math

from support import summary

WIDTH, NAME_WIDTH, VALUE_WIDTH, BAR, STEP, MARGIN = 1064, 370, 264, 14, 24, 16
PANEL_HEAD, PANEL_FOOT, HEAD, FOOT = 48, 12, 64, 18

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: var(--ink) }
  .title { font-size: 16px; font-weight: 600 } .note { fill: var(--faint); font-size: 12px }
  .panel { font-weight: 600 } .bold { font-weight: 700 } .value { font-variant-numeric: tabular-nums }
  .ground { fill: var(--ground) } .grid { stroke: var(--grid) } .whisker { stroke: var(--ink) }
  .rival { fill: var(--rival) } .ours { fill: var(--ours) } .second { opacity: 0.45 }
  .hollow { fill: none; stroke: var(--rival); stroke-width: 1.5; stroke-dasharray: 3 2 }
  svg { --ground: #ffffff; --ink: #1f2328; --faint: #59636e; --grid: #d8dee4; --rival: #0072b2; --ours: #d55e00 }
  @media (prefers-color-scheme: dark) {
    svg { --ground: #0d1117; --ink: #e6edf3; --faint: #9198a1; --grid: #30363d; --rival: #56b4e9; --ours: #e69f00 }
  }
"""


def text(x, y, content, css="", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">{html.escape(content)}</text>'


def rectangle(x, y, width, css, height=BAR):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height}" class="{css}"/>'


def line(x1, y1, x2, y2, css):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{css}"/>'


def round_step(top):
    """The grid's step: 1, 2 or 5 times a power of ten, so that there are three to seven lines."""
    power = 10 ** math.floor(math.log10(top / 3))
    return next(factor * power for factor in (5, 2, 1) if factor * power * 3 <= top)


def scale_end(rows):
    """The largest value, or the second where one so dwarfs the others that nothing else could be seen."""
    highs = sorted(row.high for row in rows)
    dwarfed = len(highs) > 1 and 0 < highs[-2] < highs[-1] / 8
    return highs[-2] * 1.05 if dwarfed else highs[-1]


class Panel:
    """One comparison: its bars begin at the same x as every panel's."""

    def __init__(self, heading, rows, question, metric):
        self.heading, self.rows, self.question, self.metric = heading, rows, question, metric
        self.top = scale_end(rows)
        self.left, self.room = MARGIN + NAME_WIDTH, WIDTH - 2 * MARGIN - NAME_WIDTH - VALUE_WIDTH

    @property
    def height(self):
        return PANEL_HEAD + STEP * len(self.rows) + PANEL_FOOT

    def x(self, value):
        return self.left + self.room * min(value / self.top, 1.0)

    def grid(self, y):
        step, bottom = round_step(self.top), y + PANEL_HEAD + STEP * len(self.rows)
        marks = [i * step for i in range(int(self.top / step) + 1)]
        for mark in marks:
            yield line(self.x(mark), y + PANEL_HEAD - 4, self.x(mark), bottom, "grid")
            yield text(self.x(mark), y + PANEL_HEAD - 8, f"{mark:g}", "note", "middle")

    def bars(self, row, y):
        """The median's bar, in the parts it is stacked from, scaled so that they end at the median."""
        if not row.rival and not row.ours:
            yield rectangle(self.left, y, self.x(row.value) - self.left, "hollow")
            return
        css = "ours" if row.ours else "rival"
        parts = [summary.median_of(row.cell, part) for part in self.question.plot_parts] or [row.value]
        scale, start = row.value / (sum(parts) or 1), 0.0
        for i, part in enumerate(parts):
            end = self.x(start + part * scale)
            yield rectangle(self.x(start), y, end - self.x(start), f"{css} second" if i else css)
            start += part * scale

    def row(self, row, y):
        middle, baseline = y + BAR / 2, y + BAR - 3
        yield text(self.left - 8, baseline, row.name, "bold" if row.ours else "", "end")
        yield from self.bars(row, y)
        yield line(self.x(row.low), middle, self.x(row.high), middle, "whisker")
        for end in (row.low, row.high):
            yield line(self.x(end), middle - 4, self.x(end), middle + 4, "whisker")
        yield text(WIDTH - MARGIN, baseline, self.value(row), "value bold" if row.ours else "value", "end")

    def value(self, row):
        texts = [f"{row.value:.{self.metric.digits}f} {self.metric.title}", summary.ratio(row.to_best)]
        if row.value > self.top:
            texts[0] = f"» {texts[0]}"
        for column in self.question.plot_notes:
            texts.append(f"{summary.median_of(row.cell, column):.{column.digits}f} {column.title}")
        return ", ".join(texts)

    def draw(self, y):
        yield text(MARGIN, y + PANEL_HEAD - 26, self.heading, "panel")
        yield from self.grid(y)
        for i, row in enumerate(self.rows):
            yield from self.row(row, y + PANEL_HEAD + STEP * i + (STEP - BAR) / 2)


def panels_of(result, question):
    for group in question.plot_groups or summary.groups_of(result):
        for variant in summary.variants_of(result, group):
            if question.plot_variants and variant not in question.plot_variants:
                continue
            heading = ", ".join(filter(None, (question.groups[group], variant)))
            yield Panel(heading, summary.rows_of(result, question, group, variant), question, question.metric_of(group))


def legend(question):
    parts = "; solid " + ", pale ".join(part.title for part in question.plot_parts) if question.plot_parts else ""
    return (
        f"bar: median{parts}; whisker: lowest and highest; hollow: no rival; »: beyond the scale; "
        "ratio: to the best rival; less is better"
    )


def svg(result, question):
    panels = list(panels_of(result, question))
    if question.plot_one_scale:
        for panel in panels:
            panel.top = max(other.top for other in panels)
    height = HEAD + sum(panel.height for panel in panels) + FOOT
    shapes = [rectangle(0, 0, WIDTH, "ground", height), text(MARGIN, 28, question.title, "title")]
    shapes.append(text(MARGIN, 48, legend(question), "note"))
    y = HEAD
    for panel in panels:
        shapes += panel.draw(y)
        y += panel.height
    machine = f"{result['machine']['cpu']}, {result['compiler']}, {result['date']}"
    shapes.append(text(MARGIN, height - 10, machine, "note"))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img">'
    )
    title = f"<title>{html.escape(question.title)}</title>"
    return "\n".join([head, title, f"<style>{STYLE}</style>", *shapes, "</svg>", ""])
