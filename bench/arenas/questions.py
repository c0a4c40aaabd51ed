# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The questions about memory that is released all at once, or in reverse order."""

from support.question import Column, Question

QUESTIONS = {
    "arenas": Question(
        title="Memory that is let go all at once: nanoseconds for one block, string vector, node, edge",
        metric=Column("ns", "median_ns", 2),
        baseline="pmr_monotonic",
        groups={
            "bump16": "a block of 16 bytes, 1,000 in a row",
            "bump64": "a block of 64 bytes, 1,000 in a row",
            "strings": "32 log strings of about 25 characters into a vector, memory from the stack",
            "tree": "a node of an expression that is parsed, evaluated and let go",
            "graph": "an edge of a graph that is built, walked over and let go",
            "frames": "a block of a frame of 2,000 of 16 to 256 bytes",
        },
        quick=("--rounds", "20"),
    ),
    "clauses": Question(
        title="Clauses behind references of 32 bits: nanoseconds for each of three million of 12 to 40 bytes",
        metric=Column("ns", "median_ns", 1),
        baseline="realloc",
        groups={
            "make": "make one in memory that grows from nothing",
            "read": "find one by its reference, in random order",
        },
        columns=(Column("peak B/clause", "peak_bytes_per_clause", 1),),
        quick=("--count", "100000"),
    ),
    "stack_evaluator": Question(
        title="Temporaries of a recursive evaluator: nanoseconds per operation",
        metric=Column("ns", "median_ns", 2),
        baseline="glibc",
        groups={
            "small": "32 bytes each",
            "mixed": "from 32 to 1024 bytes",
            "aligned": "256 bytes, aligned to 64",
        },
        columns=(Column("fastest", "min_ns", 2), Column("p90", "p90_ns", 2), Column("peak KiB", "peak_bytes", 0, 1 / 1024)),
        quick=("--windows", "20"),
        runs=3,
    ),
}
