# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The questions about resources that come and go."""

from support.question import Column, Question

QUESTIONS = {
    "lives": Question(
        title="A resource inside an object: its life with three blocks of 64 bytes",
        metric=Column("ns", "life_ns", 0),
        baseline="pmr_pool",
        groups={"life": "a life with three blocks", "alive": "one of 2,000 alive, with three blocks each"},
        group_metrics={"alive": Column("bytes", "alive_bytes")},
        columns=(Column("sizeof", "object_bytes"),),
        quick=("--rounds", "5"),
        plot_groups=("life",),
        runs=3,
    ),
}
