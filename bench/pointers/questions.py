# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The questions about counted pointers."""

from support.question import Column, Question

QUESTIONS = {
    "counted_pointers": Question(
        title="15 million counted pointers: milliseconds to create and to destroy them in order",
        metric=Column("ms", "total_ms"),
        baseline="make_shared",
        groups={"double": "to double", "int": "to int", "double_o2": "to double; -O2"},
        columns=(
            Column("B/pointer", "bytes_per_pointer", 1),
            Column("create ns", "create_ns", 1),
            Column("destroy", "destroy_ns", 1),
            Column("create again", "again_ns", 1),
            Column("copy, drop", "copy_ns", 1),
            Column("random copy, drop", "random_copy_ns"),
            Column("random destroy", "random_destroy_ns"),
            Column("pool's end ms", "teardown_ms"),
        ),
        quick=("--count", "1500000"),
        plot_notes=(Column("B", "bytes_per_pointer", 1),),
        plot_groups=("double", "int"),
        runs=2,
    ),
}
