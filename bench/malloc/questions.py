# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The question about whole programs under another malloc."""

from support.question import MIB, Column, Question

from . import workloads

CPU = Column("CPU ms", "cpu_ms", 1)
PEAK = Column("peak MiB", "peak_bytes", 2, MIB)
WALL = Column("wall ms", "wall_ms", 1)
FAULTS = Column("minor faults", "faults")

QUESTIONS = {
    "malloc_programs": Question(
        title="Whole programs under another malloc: milliseconds of processor time, user and system",
        metric=CPU,
        baseline="glibc",
        groups={program.name: program.heading for program in (*workloads.PROGRAMS, workloads.START)},
        group_metrics={workloads.START.name: Column("CPU ms", "cpu_ms", 3)},
        columns=(WALL, PEAK, FAULTS),
        ratios=(
            Column("CPU", "cpu_ms"),
            Column("peak", "peak_bytes"),
            Column("wall", "wall_ms"),
            Column("minor faults", "faults"),
        ),
        ratio_groups=tuple(program.name for program in workloads.PROGRAMS),
        quick=("--short",),
        plot_notes=(PEAK,),
        shuffled=True,
        threads=2,
    ),
}
