# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The questions about pools that two threads use."""

from support.question import MIB, Column, Question, had_two_near_cores

QUESTIONS = {
    "thread_containers": Question(
        title="Two threads, each with a node container of its own, on one allocator type",
        metric=Column("ms", "wall_ms"),
        baseline="glibc",
        groups={"list": "std::list<int>, twice", "set": "std::set<int>, twice"},
        columns=(
            Column("cpu", "cpu_ms"),
            Column("sys", "sys_ms"),
            Column("B/elem", "bytes_per_element", 1),
            Column("kept MiB", "kept_bytes", 0, MIB),
            Column("ping-pong ns", "ping_pong_ns"),
        ),
        quick=("--count", "200000"),
        plot_notes=(Column("B", "bytes_per_element", 1),),
        threads=2,
        runs=10,
        usable=had_two_near_cores,
    ),
    "thread_handover": Question(
        title="Allocated in one thread, freed in another: nanoseconds per element",
        metric=Column("ns", "wall_ns", 1),
        baseline="glibc",
        groups={
            "lists": "lists of 1,000, always 256 of them on the way: 5.9 MiB",
            "ring": "64-byte cells, at most 1,024 on the way: 64 KiB",
            "deep": "64-byte cells, always 131,072 on the way: 8 MiB",
        },
        columns=(
            Column("cpu", "cpu_ns", 1),
            Column("sys", "sys_ns", 1),
            Column("peak MiB", "peak_bytes", 1, MIB),
            Column("ping-pong ns", "ping_pong_ns"),
        ),
        quick=("--count", "500000"),
        plot_notes=(Column("MiB", "peak_bytes", 1, MIB),),
        threads=2,
        runs=10,
        usable=had_two_near_cores,
    ),
}
