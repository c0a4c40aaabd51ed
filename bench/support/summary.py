# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the runs of a result to its tables: medians, spread, ratios of medians."""

import dataclasses
import statistics

from support import paired


@dataclasses.dataclass
class Row:
    """One peer in one group and variant."""

    peer: str
    name: str
    rival: bool
    value: float
    low: float
    high: float
    cell: dict
    to_baseline: float = 0.0
    to_best: float = 0.0

    @property
    def ours(self):
        return self.peer.startswith("ashlar")


@dataclasses.dataclass
class Table:
    heading: str
    titles: list
    lines: list  # of texts
    ours: set  # indices into lines


def median_of(cell, column):
    return statistics.median(run[column.field] for run in cell["runs"]) * column.scale


def row_of(cell, metric):
    values = [run[metric.field] * metric.scale for run in cell["runs"]]
    name = f"{cell['what']} {cell['runs'][0].get('malloc_version', '')}".strip()
    return Row(cell["peer"], name, cell["rival"], statistics.median(values), min(values), max(values), cell)


def distinct(values):
    return list(dict.fromkeys(values))


def groups_of(result):
    return distinct(cell["group"] for cell in result["cells"])


def variants_of(result, group):
    return distinct(cell["variant"] for cell in result["cells"] if cell["group"] == group)


def rows_of(result, question, group, variant=""):
    """The rows of one comparison, in the order of the peers table."""
    cells = [cell for cell in result["cells"] if (cell["group"], cell["variant"]) == (group, variant)]
    rows = [row_of(cell, question.metric_of(group)) for cell in cells]
    baseline = next((row.value for row in rows if row.peer == question.baseline), 0)
    best = min((row.value for row in rows if row.rival and not row.ours), default=0)
    for row in rows:
        row.to_baseline = row.value / baseline if baseline else 0.0
        row.to_best = row.value / best if best else 0.0
    return rows


def ratio(value):
    return f"{value:.2f}x" if value else "-"


def plain_table(result, question, group):
    """One line per peer: the metric, its spread, the other columns, the ratios."""
    metric, rows = question.metric_of(group), rows_of(result, question, group)
    titles = ["", metric.title, "spread", *(column.title for column in question.columns)]
    lines = [
        [
            row.name,
            f"{row.value:.{metric.digits}f}",
            f"{row.low:.{metric.digits}f}-{row.high:.{metric.digits}f}",
            *(f"{median_of(row.cell, column):.{column.digits}f}" for column in question.columns),
            ratio(row.to_baseline),
            ratio(row.to_best),
        ]
        for row in rows
    ]
    titles += [f"/ {question.baseline}", "/ best rival"]
    return Table(question.groups[group], titles, lines, {i for i, row in enumerate(rows) if row.ours})


def variants_table(result, question, group):
    """One line per peer, one column per variant: the metric, and in brackets its ratio to the best rival."""
    variants = variants_of(result, group)
    by_variant = {v: {row.name: row for row in rows_of(result, question, group, v)} for v in variants}
    names = distinct(name for rows in by_variant.values() for name in rows)

    def shown(row):
        if row is None:
            return ""
        value = f"{row.value:.{question.metric_of(group).digits}f}"
        return f"{value} ({ratio(row.to_best)})" if row.to_best else value

    lines = [[name, *(shown(by_variant[v].get(name)) for v in variants)] for name in names]
    ours = {i for i, name in enumerate(names) if any(name in rows and rows[name].ours for rows in by_variant.values())}
    return Table(question.groups[group], ["", *variants], lines, ours)


def ratio_table(result, question, column):
    """One line per peer: the geometric mean of its ratios, then each of them."""
    ratios = paired.Ratios(result, question, column)
    lines = [[row_of(cell, column).name, *ratios.texts_of(peer)] for peer, cell in ratios.peers.items()]
    ours = {i for i, cell in enumerate(ratios.peers.values()) if row_of(cell, column).ours}
    return Table(ratios.heading, ["", "geometric mean", *ratios.groups], lines, ours)


def tables_of(result, question):
    return [ratio_table(result, question, column) for column in question.ratios] + [
        (variants_table if any(variants_of(result, group)) else plain_table)(result, question, group)
        for group in groups_of(result)
    ]


def as_text(table):
    lines = [[table.heading, *table.titles[1:]], *table.lines]
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.titles))]
    return "\n".join(
        "  ".join(text.rjust(width) if i else text.ljust(width) for i, (text, width) in enumerate(zip(line, widths)))
        for line in lines
    )


def as_markdown(table):
    lines = [[f"`{table.heading}`" if "::" in table.heading else table.heading, *table.titles[1:]]]
    lines.append(["---"] + ["---:"] * (len(table.titles) - 1))
    for i, line in enumerate(table.lines):
        lines.append([f"**{text}**" if text and i in table.ours else text for text in line])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def conditions(result):
    machine = result["machine"]
    pinned = "one core" if result.get("cores", 1) == 1 else f"{result['cores']} cores"
    where = f"{machine['cpu']}{' (virtual machine)' if machine['virtual'] else ''}, {machine['cores']} cores"
    return (
        f"{where}, {machine['caches']}, {machine['kernel']}, {machine['libc']}, {result['compiler']}, "
        f"{result['date']}; {pinned}, median of {result['processes_per_cell']} processes, interleaved"
    )
