# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The questions about heaps of any size."""

from support.question import MIB, Column, Question

ENGINE_WORKLOADS = ("pair", "lifo", "fifo", "shuffled", "mixed", "wide", "frame", "components", "large", "large_touched")

QUESTIONS = {
    "engine_workloads": Question(
        title="Ten ways in which engines allocate, one thread: nanoseconds for one allocation and its free",
        metric=Column("ns", "median_ns", 2),
        baseline="glibc",
        groups={
            "pair": "64 bytes, freed at once",
            "lifo": "1,000 of 64 bytes, the last freed first",
            "fifo": "1,000 of 64 bytes, the first freed first",
            "shuffled": "1,000 of 64 bytes, freed in random order",
            "mixed": "16 to 256 bytes, 4,096 live, a random one replaced",
            "wide": "16 bytes to 32 KiB by logarithm, 4,096 live, a random one replaced",
            "frame": "2,000 of 16 to 256 bytes, all freed at the end",
            "components": "four kinds of 32 to 160 bytes, 10,000 live, sizes known to the compiler",
            "large": "64 KiB to 1 MiB, 64 live, a random one replaced",
            "large_touched": "the same, each page touched",
            "cold_unsized": "the first window of a process, page faults and all: nanoseconds",
            "cold_sized": "the same, sized frees",
            "peak_unsized": "resident at most, MiB",
        },
        group_metrics={
            "cold_unsized": Column("ns", "cold_ns", 1),
            "cold_sized": Column("ns", "cold_ns", 1),
            "peak_unsized": Column("MiB", "peak_bytes", 1, MIB),
        },
        quick=("--windows", "5"),
        plot_groups=(*ENGINE_WORKLOADS,),
    ),
    "heap_tails": Question(
        title="One allocation, one free under four of these workloads: nanoseconds at the 99.9th percentile",
        metric=Column("p99.9 ns", "p999_ns"),
        baseline="glibc",
        groups={
            f"{workload}_{call}": f"{call}; {what}"
            for workload, what in (
                ("mixed", "16 to 256 bytes, 4,096 live, random"),
                ("wide", "16 bytes to 32 KiB, 4,096 live, random"),
                ("frame", "2,000 of 16 to 256 bytes, then all freed"),
                ("large", "64 KiB to 1 MiB, 64 live, random"),
            )
            for call in ("allocate", "free")
        },
        columns=(
            Column("p50", "p50_ns"),
            Column("p99", "p99_ns"),
            Column("p99.99", "p9999_ns"),
            Column("max", "max_ns"),
        ),
        quick=("--rounds", "20"),
        plot_notes=(Column("ns at p50", "p50_ns"),),
        plot_groups=("mixed_allocate", "mixed_free", "wide_allocate", "wide_free"),
        runs=3,
    ),
    "heap_instructions": Question(
        title="Instructions for one allocation and its free, the workload's own loop with them",
        metric=Column("instructions", "instructions", 1),
        baseline="glibc",
        groups={"unsized_frees": "frees by address", "sized_frees": "sized frees"},
        plot_groups=("unsized_frees",),
        runs=1,
    ),
    "heap_code_size": Question(
        title="Machine code of a heap",
        metric=Column("KiB", "text_bytes", 1, 1 / 1024),
        baseline="glibc",
        groups={"text": ".text"},
        columns=(Column("with constants", "with_constants_bytes", 1, 1 / 1024),),
        runs=1,
    ),
    "heap_memory": Question(
        title="What a heap holds: resident memory, and what giving it back or keeping it costs",
        metric=Column("MiB", "later_bytes", 1, MIB),
        baseline="glibc",
        groups={
            "small": "96 MiB of 16 to 256 bytes, 90 % freed at random, then 100,000 of the rest replaced",
            "mixed": "the same, 16 bytes to 32 KiB",
            "phases": "64 MiB of 64, then of 256, 48, 1024, 96 bytes",
            "drift": "32 MiB of random blocks, replaced, whose sizes drift from 16 bytes to 64 KiB and back",
            "huge_touched": "16 blocks of 4 to 32 MiB, a random one replaced, each page touched",
            "huge_untouched": "the same, the first word touched",
            "swing": "256 MiB of 100 KiB, all freed, ten times",
        },
        group_metrics={
            "phases": Column("peak / live", "peak_ratio", 3),
            "drift": Column("peak / live", "peak_ratio", 3),
            "huge_touched": Column("us", "pair_ns", 1, 1e-3),
            "huge_untouched": Column("us", "pair_ns", 1, 1e-3),
            "swing": Column("us", "pair_ns", 1, 1e-3),
        },
        columns=(
            Column("peak MiB", "peak_bytes", 1, MIB),
            Column("at the end", "held_bytes", 1, MIB),
            Column("asked", "trimmed_bytes", 1, MIB),
            Column("ask ms", "trim_ms", 1),
            Column("none live, asked", "emptied_bytes", 1, MIB),
            Column("ns a pair", "pair_ns"),
            Column("faults a pair", "faults_per_pair", 3),
        ),
        quick=("--percent", "10"),
        plot_notes=(Column("asked", "trimmed_bytes", 1, MIB),),
        plot_groups=("small", "mixed", "phases", "drift"),
        runs=3,
    ),
    "heap_limits": Question(
        title="A small address space: MiB of it that cannot be blocks",
        metric=Column("MiB", "lost_bytes", 1, MIB),
        baseline="glibc",
        groups={limit: f"{limit} MB, by the size of the blocks" for limit in ("32", "64", "128", "300", "600")},
        plot_groups=("32", "64", "300"),
        plot_variants=("48", "1000", "200000"),
        runs=1,
    ),
    "tiered_heap": Question(
        title="Planned, own and others' blocks behind one free: nanoseconds for a call",
        metric=Column("ns", "median_ns", 2),
        baseline="glibc",
        groups={
            "resolve": "the address of a planned buffer, or its allocation",
            "planned": "its free",
            "own": "the free of a block that the same thread has allocated, 16 to 256 bytes, random order",
            "shared": "the same, of another thread's",
        },
        quick=("--rounds", "100"),
        threads=2,
    ),
}
