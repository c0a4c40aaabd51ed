# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The questions about the latency of single calls, and about memory that processes share."""

from support.question import Column, Question

QUESTIONS = {
    "tlsf_latency": Question(
        title="One allocation, one free: nanoseconds at the 99.9th percentile",
        metric=Column("p99.9 ns", "p999_ns"),
        baseline="glibc",
        groups={
            "churn_allocate": "allocate; 16 B to 32 KiB, 4,096 live, random",
            "churn_free": "free; the same",
            "hostile_allocate": "allocate; waves of small, odd and large blocks",
            "hostile_free": "free; the same",
        },
        columns=(
            Column("p50", "p50_ns"),
            Column("p99", "p99_ns"),
            Column("p99.99", "p9999_ns"),
            Column("max", "max_ns"),
            Column("pair, untimed", "pair_ns", 1),
        ),
        quick=("--count", "200000"),
        plot_notes=(Column("ns at p50", "p50_ns"),),
        plot_groups=("churn_allocate", "churn_free"),
        runs=3,
    ),
    "shared_memory": Question(
        title="An allocation and a free in memory that processes share: nanoseconds",
        metric=Column("ns", "pair_ns", 1),
        baseline="boost_best_fit",
        groups={
            "small": "16 B to 256 B, 4,096 live, random",
            "churn": "16 B to 32 KiB, 4,096 live, random",
        },
        quick=("--count", "200000"),
        runs=3,
    ),
}
