# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ratios of runs of one turn, which saw the same state of the machine: medians, exact intervals, geometric means."""

import math
import statistics

WANTED = 0.95


def coverage(n, k):
    """The sign test: the chance that a median lies between the k-th least and the k-th greatest of n values."""
    return 1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2**n


def order_of(n):
    """The largest k whose interval covers at least 95 %; 1, the whole range, where none does."""
    return max((k for k in range(1, n // 2 + 1) if coverage(n, k) >= WANTED), default=1)


def interval(values):
    ordered, k = sorted(values), order_of(len(values))
    return ordered[k - 1], ordered[-k]


def shown(ratios, digits):
    low, high = interval(ratios)
    return f"{statistics.median(ratios):.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def ratios_of(own, base, field):
    """Turn by turn, as far as both have runs."""
    return [a[field] / b[field] for a, b in zip(own["runs"], base["runs"]) if b[field]]


def geometric_means(all_ratios):
    """One for each turn, over the programs."""
    return [statistics.geometric_mean(turn) for turn in zip(*all_ratios)]


class Ratios:
    """The ratios of one column to the baseline peer: a line for each peer, a column for each group and their mean."""

    def __init__(self, result, question, column):
        self.column, self.question = column, question
        self.cells = {(cell["group"], cell["peer"]): cell for cell in result["cells"]}
        self.peers = {cell["peer"]: cell for cell in result["cells"]}
        self.groups = [group for group in question.ratio_groups if (group, question.baseline) in self.cells]

    def of(self, peer, group):
        own, base = self.cells.get((group, peer)), self.cells[group, self.question.baseline]
        return ratios_of(own, base, self.column.field) if own else []

    def texts_of(self, peer):
        by_group = [self.of(peer, group) for group in self.groups]
        mean = shown(geometric_means(by_group), 3) if by_group and all(by_group) else ""
        return [mean, *(shown(ratios, 2) if ratios else "" for ratios in by_group)]

    @property
    def heading(self):
        least = min(len(cell["runs"]) for cell in self.cells.values())
        certain = coverage(least, order_of(least))
        return f"{self.column.title} / {self.question.baseline} (interval of {certain:.1%})"
