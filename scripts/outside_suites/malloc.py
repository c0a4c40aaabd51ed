#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs tests that others wrote under a preloaded malloc: glibc's own of malloc, and git's of git.

usage: malloc.py --library LEVEL=PATH… [--suite glibc|git] [--filter WORD…] [--work FOLDER]

They are fetched when this runs and none of their code is kept here. A test counts where it passes on the C library's
malloc. One that fails on ours must be in expected_failures.txt, with the reason; one that is there and passes is
reported as well.
"""
import argparse
import os
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from expected import expected_failures, judge
from fetch import fetch, unpack, untar

ROOT = Path(__file__).resolve().parent.parent.parent
SKIPPED = 77
SECONDS = 60


class Glibc:
    """Each test is one program over glibc's support library, of which those files are built that build outside glibc."""

    name = "glibc"
    patterns = ("*/malloc/*", "*/support/*", "*/test-skeleton.c", "*/include/libc-diag.h", "*/include/array_length.h",
                "*/include/alloc_buffer.h", "*/include/scratch_buffer.h", "*/include/intprops.h")
    flags = ("-std=gnu11", "-O1", "-g1", "-w", "-fno-builtin", "-D_GNU_SOURCE", "-DTIMEOUTFACTOR=1", "-pthread", "-include", "limits.h")
    # Folders of a build of glibc, which no test of malloc looks into.
    paths = tuple(f'-D{name}_PATH="/nonexistent"' for name in ("SRCDIR", "OBJDIR", "OBJDIR_ELF_LDSO", "INSTDIR", "LIBDIR",
                  "BINDIR", "SBINDIR", "SLIBDIR", "ROOTSBINDIR", "COMPLOCALEDIR"))

    def __init__(self, work):
        (self.tree,) = unpack(work, "glibc", self.patterns).iterdir()
        self.out = work / "built" / "glibc"
        self.out.mkdir(parents=True, exist_ok=True)
        self.folder = self.out
        own = self.out / "include"
        own.mkdir(exist_ok=True)
        for name in ("libc-diag.h", "array_length.h", "intprops.h"):
            (own / name).write_text((self.tree / "include" / name).read_text())
        self.includes = [f"-I{own}", f"-I{self.tree}", f"-I{self.tree / 'support'}", f"-I{self.tree / 'malloc'}"]

    def compile(self, source, *arguments):
        return subprocess.run(["gcc", *self.flags, *self.paths, *self.includes, source, *arguments], capture_output=True, text=True,
                              check=False)

    def support(self):
        archive = self.out / "libsupport.a"
        if not archive.exists():
            objects = {source: self.out / f"{source.stem}.o" for source in (self.tree / "support").glob("*.c")}
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(lambda pair: self.compile(pair[0], "-c", "-o", pair[1]), objects.items()))
            built = [path for path in objects.values() if path.exists()]
            subprocess.run(["ar", "rcs", archive, *built], check=True)
        return archive

    def tests(self):
        return sorted(path.stem for path in (self.tree / "malloc").glob("tst-*.c"))

    def command(self, test):
        """Returns the command that runs the test, or None if it needs what only glibc's build has."""
        program = self.out / test
        if not program.exists():
            built = self.compile(self.tree / "malloc" / f"{test}.c", "-o", program, self.support(), "-ldl")
            if built.returncode != 0:
                return None
        return [program]


class Git:
    """git's scripts with the programs of its source, which the C library's malloc builds."""

    name = "git"
    chosen = ("t0", "t3")

    def __init__(self, work):
        into = work / "sources" / "git"
        if not into.exists():
            (archive,) = fetch(work, "git").glob("*.orig.tar.*")
            untar(archive, into, "*")
        (self.tree,) = into.iterdir()
        self.folder = self.tree / "t"
        make = ["make", f"-j{os.cpu_count()}", "-C", self.tree, "-s", "CFLAGS=-O1 -w", "NO_TCLTK=1", "NO_GETTEXT=1",
                "NO_CURL=1", "NO_EXPAT=1", "NO_PYTHON=1"]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL)

    def tests(self):
        return sorted(path.stem for path in (self.tree / "t").glob("t[0-9]*.sh") if path.stem.startswith(self.chosen))

    def command(self, test):
        return ["sh", f"{test}.sh", "--quiet"]


def end_group(process):
    """Processes that a test started and left are in its group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def outcome(suite, test, library):
    """Returns "passed", "skipped", or how the test failed and its last words."""
    environment = {**os.environ, **({"LD_PRELOAD": str(library)} if library else {})}
    command = suite.command(test)
    if command is None:
        return "does not build outside glibc"
    process = subprocess.Popen(command, cwd=suite.folder, env=environment, stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.STDOUT, errors="replace", stdin=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        printed, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        printed = None
    end_group(process)
    if printed is None:
        return "does not end"
    if process.returncode in (0, SKIPPED):
        return "skipped" if process.returncode else "passed"
    return f"failed ({process.returncode}): {' '.join(printed.split()[-40:])}"


def run_suite(suite, libraries, filters):
    """Prints what was not expected, and a tally for each library. Returns the number of surprises."""
    tests = [test for test in suite.tests() if not filters or any(word in test for word in filters)]
    tallies = {level: Counter() for level in libraries}
    for test in tests:
        on_glibc = outcome(suite, test, None)
        for level, library in libraries.items():
            name = f"{suite.name}/{test}"
            if on_glibc != "passed":
                tallies[level]["skipped" if on_glibc == "skipped" else "not run: failed on glibc's malloc"] += 1
                continue
            tallies[level][judge(f"{name} at {level}", outcome(suite, test, library),
                                 expected_failures(level).get(name))] += 1
        if on_glibc not in ("passed", "skipped"):
            print(f"{suite.name}/{test} on glibc's malloc: {on_glibc}", flush=True)
    for level, tally in tallies.items():
        print(f"{suite.name}, {level}: " + ", ".join(f"{n} {word}" for word, n in sorted(tally.items())), flush=True)
    return sum(tally["failed"] + tally["passed unexpectedly"] for tally in tallies.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", action="append", required=True, metavar="LEVEL=PATH")
    parser.add_argument("--suite", choices=("glibc", "git"), action="append")
    parser.add_argument("--filter", action="append", default=[], help="only tests whose name contains this")
    parser.add_argument("--work", type=lambda path: Path(path).resolve(), default=ROOT / "build" / "outside_suites")
    arguments = parser.parse_args()
    libraries = {level: Path(path).resolve() for level, _, path in (each.partition("=") for each in arguments.library)}
    suites = [suite for suite in (Glibc, Git) if suite.name in (arguments.suite or ("glibc", "git"))]
    sys.exit(1 if sum(run_suite(suite(arguments.work), libraries, arguments.filter) for suite in suites) else 0)


if __name__ == "__main__":
    main()
