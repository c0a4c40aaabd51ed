# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The questions about objects: pools and handles."""

from support.question import MIB, Column, Question

QUESTIONS = {
    "object_pairs": Question(
        title="Objects, acquired and released at once: nanoseconds for both",
        metric=Column("ns", "median_ns", 2),
        baseline="glibc",
        groups={"64": "64 bytes, all written", "large": "1000 KiB, first and last word written"},
        quick=("--windows", "3"),
        plot_variants=("-O3",),
    ),
    "object_batches": Question(
        title="100,000 objects of 1 KiB, by how many at a time memory is fetched for: nanoseconds for each",
        metric=Column("ns", "warm_ns", 1),
        baseline="glibc",
        groups={
            "bulk_warm": "all, then none; warm",
            "bulk_cold": "all, then none; first time, with the pool's making",
            "mixed_warm": "mixed; warm",
            "mixed_cold": "mixed; first time, with the pool's making",
            "bulk_warm_o2": "all, then none; warm; -O2",
            "mixed_warm_o2": "mixed; warm; -O2",
        },
        group_metrics={name: Column("ns", "cold_ns") for name in ("bulk_cold", "mixed_cold")},
        quick=("--count", "10000", "--rounds", "5"),
        plot_variants=("4096",),
        plot_groups=("bulk_warm", "bulk_cold", "mixed_warm", "mixed_cold"),
        runs=2,
    ),
    "large_objects": Question(
        title="1000 objects of 1000 KiB held at once: nanoseconds for acquiring and releasing each",
        metric=Column("ns", "again_ns", 1),
        baseline="glibc",
        groups={
            "touched": "first and last word written",
            "touched_o2": "first and last word written; -O2",
            "zeroed": "all zeroed, by the constructor",
        },
        columns=(
            Column("acquire", "acquire_ns", 1),
            Column("release", "release_ns", 1),
            Column("pool's making", "build_ns"),
            Column("first acquire", "first_acquire_ns"),
            Column("first release", "first_release_ns"),
            Column("pool's end", "teardown_ns"),
            Column("peak MiB", "peak_bytes", 0, MIB),
        ),
        quick=("--count", "100", "--rounds", "3"),
        plot_notes=(Column("ns at first", "first_acquire_ns"),),
        plot_groups=("touched", "zeroed"),
        runs=3,
    ),
    "slot_map": Question(
        title="Objects behind handles: nanoseconds for each of a million of 64 bytes",
        metric=Column("ns", "median_ns", 1),
        baseline="vector",
        groups={
            "walk": "walk over all",
            "walk_churned": "walk over all, after half were replaced ten times",
            "get": "find by handle, in random order",
            "replace": "erase and make, in random order",
        },
        columns=(Column("B/object", "bytes_per_object", 1),),
        quick=("--count", "100000"),
    ),
}
