# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The questions: which fields of a process's JSON answer each of them, and how they are shown."""

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
    plot_one_scale: bool = False  # for all panels, or each its own


MIB = 1 / (1 << 20)

QUESTIONS = {
    "node_containers": Question(
        title="Node containers: grow, thin out, grow again, die",
        metric=Column("ms", "cpu_ms"),
        baseline="glibc",
        groups={"list": "std::list<int>", "set": "std::set<int>"},
        columns=(
            Column("user", "user_ms"),
            Column("sys", "sys_ms"),
            Column("B/elem", "bytes_per_element", 1),
            Column("walk", "traversal_ms"),
            Column("kept MiB", "kept_bytes", 0, MIB),
        ),
        quick=("--count", "1000000"),
        plot_parts=(Column("user ms", "user_ms"), Column("system ms", "sys_ms")),
        plot_notes=(Column("B", "bytes_per_element", 1),),
    ),
    "fixed_block": Question(
        title="Blocks of one size: nanoseconds per allocate and free",
        metric=Column("ns", "median_ns", 2),
        baseline="glibc",
        groups={size: f"{size} bytes" for size in ("16", "24", "64", "256")},
        quick=("--windows", "30"),
        plot_groups=("64",),
        plot_one_scale=True,
    ),
    "fresh_memory": Question(
        title="Fresh memory: the first touch of a 4 KiB page",
        metric=Column("ns/page", "cpu_ns"),
        baseline="plain",
        groups={"backed": "backed by the host", "unbacked": "given back to the host before"},
        columns=(Column("user", "user_ns"), Column("sys", "sys_ns"), Column("unmap", "unmap_ns")),
        quick=("--mib", "64"),
        plot_parts=(Column("user ns", "user_ns"), Column("system ns", "sys_ns")),
    ),
}
