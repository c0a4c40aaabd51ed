#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the time that headers take to compile with that of known headers: budgets.py <include folder> <compiler>."""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from typing import NamedTuple

SKIPPED = 77
MOST_ROUNDS = 6
PARSE = ("-fsyntax-only",)
OPTIMISE = ("-O2", "-c")
FAST = ("-O2", "-DNDEBUG", "-c")
LIST = """#include <{header}>
#include <list>
int main(int count, char**) {{
  std::list<int, {allocator}<int>> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(i);
  int sum = 0;
  for (int each : numbers) sum += each;
  return sum;
}}
"""
HEAP = """#include <ashlar/heap/heap.hpp>
int main() {
  ashlar::heap<> heap;
  void* const p = heap.allocate(24);
  heap.deallocate(p);
  return p == nullptr;
}
"""


class Subject(NamedTuple):
    """One file and the way to compile it."""
    name: str
    flags: tuple
    text: str


class Budget(NamedTuple):
    """The most that `subject` may take, as a share of the user and system time of `yardstick`, by compiler. The share of
    one and the same state differs by up to 0.4 of itself between hosts and hours (caches and cores shared with others): a
    limit stands a tenth above the highest share seen, and finds what grows by a quarter."""
    subject: Subject
    yardstick: Subject
    limits: dict


def pooled_list(flags, level):
    ours = LIST.format(header="ashlar/face/pool_allocator.hpp", allocator="ashlar::pool_allocator")
    theirs = LIST.format(header="boost/pool/pool_alloc.hpp", allocator="boost::fast_pool_allocator")
    return Subject(f"a pooled list, {level}", flags, ours), Subject(f"the same of Boost, {level}", flags, theirs)


REGEX = Subject("parsing <regex>", PARSE, "#include <regex>\n")
BUDGETS = (
    Budget(Subject("pool_allocator.hpp", PARSE, "#include <ashlar/face/pool_allocator.hpp>\n"),
           Subject("boost/pool/pool_alloc.hpp", PARSE, "#include <boost/pool/pool_alloc.hpp>\n"),
           {"clang": 1.0, "gcc": 1.0}),
    Budget(*pooled_list(FAST, "-O2 -DNDEBUG"), {"clang": 1.7, "gcc": 2.1}),
    Budget(*pooled_list(OPTIMISE, "-O2"), {"clang": 1.95, "gcc": 2.35}),
    Budget(Subject("a heap of ashlar::heap, -O2 -DNDEBUG", (*FAST, "-DASHLAR_COMPILED_HEAP=1"), HEAP), REGEX,
           {"clang": 2.6, "gcc": 2.7}),
    Budget(Subject("ashlar.hpp", PARSE, "#include <ashlar/ashlar.hpp>\n"), REGEX, {"clang": 3.55, "gcc": 3.6}),
)


def seconds(command):
    """The user and system time of a compilation, which must succeed."""
    environment = dict(os.environ, CCACHE_DISABLE="1")
    child = subprocess.Popen(command, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime


def measure(compiler, include, folder, budgets):
    """Returns the times of one round over the files of the budgets, each once, by their names."""
    times = {}
    for subject in dict.fromkeys(subject for budget in budgets for subject in (budget.subject, budget.yardstick)):
        source = folder / "subject.cpp"
        source.write_text(subject.text)
        command = [*compiler, "-std=c++20", f"-I{include}", *subject.flags, str(source), "-o", os.devnull]
        times[subject.name] = seconds(command)
    return times


def pairs(budget, rounds):
    """The times of the subject and of its yardstick, in the rounds that have both."""
    names = (budget.subject.name, budget.yardstick.name)
    return [tuple(times[name] for name in names) for times in rounds if all(name in times for name in names)]


def ratio(budget, rounds):
    """The lower of two: of the fastest times, since others only add, and of a round, in the median, since the machine may
    be fast for as long as the shorter one takes. A disturbance raises the one or the other."""
    own, other = zip(*pairs(budget, rounds))
    return min(min(own) / min(other), statistics.median(a / b for a, b in zip(own, other)))


def exceeded(family, rounds):
    return [each for each in BUDGETS if ratio(each, rounds) > each.limits[family]]


def main():
    include, *compiler = sys.argv[1:]
    if not pathlib.Path("/usr/include/boost/pool/pool_alloc.hpp").exists():
        print("skipped: Boost's pool, the yardstick, is not installed")
        return SKIPPED
    family = "clang" if "clang" in compiler[0] else "gcc"
    with tempfile.TemporaryDirectory() as folder:
        rounds = [measure(compiler, include, pathlib.Path(folder), BUDGETS)]
        while exceeded(family, rounds) and len(rounds) < MOST_ROUNDS:  # on a disturbed machine
            rounds.append(measure(compiler, include, pathlib.Path(folder), exceeded(family, rounds)))
    for each in BUDGETS:
        found, limit = ratio(each, rounds), each.limits[family]
        print(f"{each.subject.name}: {min(own for own, _ in pairs(each, rounds)):.2f} s, {found:.2f} of "
              f"{each.yardstick.name}, at most {limit:.2f}{'' if found <= limit else ': TOO MUCH'}")
    return 1 if exceeded(family, rounds) else 0


if __name__ == "__main__":
    sys.exit(main())
