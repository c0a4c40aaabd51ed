# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: short_threads.py <library> <program of scenes.c> [<option of libashlar>…]

Threads that begin, allocate a little and end take at most three times the processor's time that they take with the C
library's malloc: the median of a few rounds, in which the two take turns. ASHLAR_STRESS multiplies the threads.
"""
import os
import statistics
import sys

ROUNDS, THREADS, MOST = 5, 1000, 3.0


def seconds(program: str, environment: dict[str, str]) -> float:
    threads = THREADS * int(os.environ.get("ASHLAR_STRESS", "1"))
    child = os.posix_spawn(program, [program, "threads", "short", str(threads)], os.environ | environment)
    _, status, used = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"the program ended with {status}")
    return used.ru_utime + used.ru_stime


def main() -> int:
    library, program, *options = sys.argv[1:]
    ours = {"LD_PRELOAD": library, "ASHLAR": ",".join(options)}
    both = [(seconds(program, {}), seconds(program, ours)) for _ in range(ROUNDS)]
    theirs, mine = (statistics.median(column) for column in zip(*both))
    print(f"{mine * 1e3:.0f} ms, by the C library's malloc {theirs * 1e3:.0f} ms")
    return 0 if mine <= MOST * theirs else 1


if __name__ == "__main__":
    sys.exit(main())
