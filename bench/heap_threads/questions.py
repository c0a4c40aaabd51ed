# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The questions about heaps that several threads use."""

from support.question import Column, Question, had_two_near_cores

QUESTIONS = {
    "heap_threads": Question(
        title="Blocks that other threads free: nanoseconds for a block's allocation, its way and its free",
        metric=Column("ns", "median_ns", 1),
        baseline="glibc",
        groups={
            "ring": "16 to 256 bytes, one thread to another, at most 1,024 on the way",
            "ring_64": "the same, 64 bytes each",
            "deep": "16 to 256 bytes, always 131,072 on the way: 17 MiB",
            "many_to_one": "one thread's blocks freed by three others: four threads",
            "many_to_one_16": "the same by fifteen",
            "one_to_many": "three threads' blocks freed by one other: four threads",
            "one_to_many_16": "fifteen threads' blocks freed by one other",
            "to_and_fro": "a block there, another back, 32 under way",
            "round_about": "batches of 256 to the next thread, those of the one before freed",
            "round_about_16": "the same, sixteen threads",
            "generations": "threads that end; the next ones replace 1,000 blocks of their neighbours 50,000 times",
            "generations_16": "the same, sixteen threads at a time",
            "batches": "the free alone; 4,096 at a time, their owner asleep",
            "bursts": "the free alone; 65,536 at a time, their owner asleep",
            "bursts_shuffled": "the same, in random order",
        },
        columns=(
            Column("best tenth", "tenth_ns", 1),
            Column("p99.9 allocate", "allocate_p999_ns"),
            Column("p99.9 free", "free_p999_ns"),
            Column("slowest / fastest", "fairness", 2),
            Column("wall ms", "wall_ms"),
            Column("cpu ms", "cpu_ms"),
            Column("peak / live", "peak_over_live", 2),
            Column("drift", "drift", 2),
            Column("ping-pong ns", "ping_pong_ns"),
        ),
        quick=("--windows", "20"),
        plot_notes=(Column("ping-pong", "ping_pong_ns"),),
        plot_groups=("ring", "deep", "many_to_one", "round_about", "generations", "batches"),
        threads=2,
        runs=10,
        usable=had_two_near_cores,
    ),
}
