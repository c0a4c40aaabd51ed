# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of mimalloc-bench and what they are started with: its own arguments for two processors, some shortened."""

import dataclasses


def unchanged(seconds):
    return seconds


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    heading: str
    file: str
    arguments: tuple = ()
    told: str = ""  # the figure in its output by which mimalloc-bench ranks
    seconds: object = unchanged  # figure -> seconds
    times: int = 1  # runs in one measurement, of which it is the mean
    with_secure: bool = False  # the price of checks is shown
    stdin: str = ""  # what it reads

    def executable(self, suite):
        return suite / "out" / "bench" / self.file

    def command(self, suite):
        """Arguments with a slash are inputs of the suite."""
        return [self.executable(suite), *(str(suite / "bench" / each) if "/" in each else each for each in self.arguments)]


LARSON = ("1", "8", "1000", "5000", "100", "4141", "2")
LARSON_TOLD = r"relative time: ([\d.]+)"

# barnes's bodies, seed, file, and parameters of the simulation.
BODIES = "\n32768\n123\n\n0.025\n0.05\n1.0\n2.0\n5.0\n0.075\n0.25\n1\n"

PROGRAMS = (
    Program("cfrac", "cfrac factors a number of 38 digits: small blocks of short life", "cfrac",
            ("76857608004062103711378816803832371443",), with_secure=True),
    Program("espresso", "espresso minimises a logic function", "espresso", ("espresso/largest.espresso",)),
    Program("barnes", "barnes moves 32,768 bodies: few allocations", "barnes", stdin=BODIES),
    Program("larson", "larson: two threads replace blocks of 8 to 1,000 bytes, and hand them on; of 10⁹ operations",
            "larson", LARSON, LARSON_TOLD),
    Program("larson_sized", "larson with sized deletes", "larson-sized", LARSON, LARSON_TOLD),
    Program("mstress", "mstress: two threads, objects that survive and move between threads", "mstress",
            ("2", "50", "25"), times=5),
    Program("mstress8", "mstress: eight threads", "mstress", ("8", "50", "25"), with_secure=True),
    Program("alloc_test", "alloc-test: two threads, up to 1 KiB", "alloc-test", ("2",)),
    Program("xmalloc", "xmalloc-test: two threads allocate, two free; of 100 million blocks", "xmalloc-test",
            ("-w", "2", "-t", "1", "-s", "64"), r"rtime: ([\d.]+)"),
    Program("cache_scratch1", "cache-scratch: one thread", "cache-scratch", ("1", "1000", "1", "1000000", "2")),
    Program("cache_scratch2", "cache-scratch: two threads, passive false sharing", "cache-scratch",
            ("2", "1000", "1", "1000000", "2")),
    Program("cache_thrash1", "cache-thrash: one thread", "cache-thrash", ("1", "1000", "1", "1000000", "2")),
    Program("cache_thrash2", "cache-thrash: two threads, active false sharing", "cache-thrash",
            ("2", "1000", "1", "1000000", "2")),
    Program("glibc_simple", "glibc's bench-malloc-simple", "glibc-simple"),
    Program("glibc_thread", "glibc's bench-malloc-thread, two threads; of 10⁹ iterations", "glibc-thread", ("2",),
            r"(\d+) iterations", lambda iterations: 1e9 / iterations),
    Program("malloc_large", "malloc-large: 2,000 blocks of 5 to 25 MiB, 20 live", "malloc-large"),
    Program("mleak10", "mleak: 5,000 threads with one block each", "mleak", ("5",), times=3),
)
