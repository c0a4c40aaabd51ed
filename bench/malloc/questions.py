# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The questions about whole programs under another malloc."""

from support.question import MIB, Column, Question

from . import security, suite_programs, workloads

CPU = Column("CPU ms", "cpu_ms", 1)
PEAK = Column("peak MiB", "peak_bytes", 2, MIB)
SECONDS = Column("s", "seconds", 3)
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
    "malloc_suite": Question(
        title="mimalloc-bench's programs: seconds of wall time, or as the program tells",
        metric=SECONDS,
        baseline="glibc",
        groups={program.name: program.heading for program in suite_programs.PROGRAMS},
        columns=(CPU, PEAK, FAULTS),
        ratios=(
            Column("time", "seconds"),
            Column("peak", "peak_bytes"),
        ),
        ratio_groups=tuple(program.name for program in suite_programs.PROGRAMS),
        plot_notes=(PEAK,),
        shuffled=True,
        threads=2,
    ),
    "malloc_security": Question(
        title=f"mimalloc-bench's security suite: programs of {security.PROGRAMS} that go on as if nothing was wrong",
        metric=Column("missed", "missed"),
        baseline="glibc",
        groups={"security": "security suite"},
        columns=(
            Column("caught", "caught"),
            *(Column(kind.replace("_", " "), kind) for kind in security.KINDS),
        ),
        threads=2,
        runs=3,
    ),
}
