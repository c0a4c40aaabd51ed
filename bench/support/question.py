# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a question is: which fields of a process's JSON answer it, and how they are shown."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Column:
    title: str
    field: str
    digits: int = 0
    scale: float = 1.0


@dataclasses.dataclass(frozen=True)
class Question:
    title: str
    metric: Column  # what is compared: smaller is better
    baseline: str  # the peer that everybody is compared with, besides the best rival
    groups: dict  # group -> heading
    columns: tuple = ()  # what else is shown (where a group has no variants)
    quick: tuple = ()  # arguments that make one process short
    plot_parts: tuple = ()  # the fields a bar is stacked from; default: the metric alone
    plot_notes: tuple = ()  # what is written beside the value
    plot_groups: tuple = ()  # default: all
    plot_variants: tuple = ()  # default: all
    plot_one_scale: bool = False  # for all panels, or each its own
    group_metrics: dict = dataclasses.field(default_factory=dict)  # where a group compares something else
    ratios: tuple = ()  # columns whose ratios to the baseline are shown first, turn by turn
    ratio_groups: tuple = ()  # the groups of these, and of their geometric mean
    shuffled: bool = False  # the peers of a group take turns in random order, and so do the groups
    threads: int = 1  # cores to pin to
    runs: int = 5  # processes per cell
    usable: object = None  # run -> bool: the others are measured again, at most twice, and dropped

    def metric_of(self, group):
        return self.group_metrics.get(group, self.metric)

    def figures_of(self, group):
        """The fields that tables and plots of a group show."""
        columns = (self.metric_of(group), *self.columns, *self.ratios, *self.plot_parts, *self.plot_notes)
        return {"malloc_version", *(column.field for column in columns)}


MIB = 1 / (1 << 20)

# Nanoseconds of a cache line's way to the other core and back, on two cores of one chip.
NEAR = 120


def had_two_near_cores(run):
    """Hosts move virtual cores apart, or give both together the time of one: wall time is then no less than cpu time.
    Generations of threads are not asked for that: between two of them one core waits anyway."""
    unit = "ms" if "wall_ms" in run else "ns"
    both_ran = run[f"wall_{unit}"] <= 0.6 * run[f"cpu_{unit}"] or run.get("workload", "").startswith("generations")
    return run["ping_pong_ns"] < NEAR and both_ran
