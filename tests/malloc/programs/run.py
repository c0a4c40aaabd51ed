#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs real programs on a preloaded malloc and compares what they write with a run on the C library's.

usage: run.py --library LEVEL=PATH… [--record ASHLAR] [--only NAME…] [--quick] [--kinds] [--table FILE] [--rows FILE]
              [--keep FOLDER]

A program is a table of programs.toml, or of its kind in by_kind.toml: `run` is a script of bash, in a folder of its own;
its stdout, and the files that it leaves in out/, are compared. `prepare` runs before, without the library. `proof` is a
regular expression for the stdout on the C library's malloc: without a match the program is "idle", which is a failure, as
is one that writes nothing. `needs` has the commands (the name of the program, without it), then the Debian packages that
have them, where these are named otherwise. A program whose commands are not installed, or whose script `requires` fails,
is listed as missing. One whose `own_bug` stands on its stderr when it fails has that bug itself, which is no failure.
`--record` runs each program under `ashlar record` too: its largest trace must have events, and a report within
REPORT_SECONDS. The exit status is 0 if every program that ran wrote the same.
"""
import argparse
import hashlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REFERENCE = "glibc"
REPORT_SECONDS = 20


@dataclass
class Run:
    outcome: str      # "ended", "crashed", "hung", "incomplete"
    seconds: float
    peak_mib: float
    digests: dict     # {file: digest}, stdout included


def digest_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digests_in(folder):
    files = [folder / "stdout", *sorted(p for p in (folder / "out").rglob("*") if p.is_file() and not p.is_symlink())]
    return {str(path.relative_to(folder)): digest_of(path) for path in files}


def environment(folder, library):
    kept = {name: os.environ[name] for name in ("PATH", "ASHLAR", "ASHLAR_TEST_FAULT") if name in os.environ}
    plain = {"HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8", "TZ": "UTC", "HERE": str(HERE),
             "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))}
    return kept | plain | ({"LD_PRELOAD": str(library)} if library else {})


def wait_for(process, seconds):
    """Returns (status, usage of the process and of all it waited for), or None in time of which there is no more."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            return status, usage
        time.sleep(0.01)
    return None


def end_group(process):
    """Servers that a script left behind, and scripts that hang, are in the group of their process."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def take_interrupts():
    """A shell that starts this program in the background has it ignore SIGINT, which tests of interpreters send."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run_script(script, folder, library, seconds, before=()):
    start = time.monotonic()
    with open(folder / "stdout", "wb") as stdout, open(folder / "stderr", "wb") as stderr:
        process = subprocess.Popen([*before, "bash", "-euo", "pipefail", "-c", script], cwd=folder,
                                   stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                   env=environment(folder, library), start_new_session=True,
                                   preexec_fn=take_interrupts)
        ended = wait_for(process, seconds)
        end_group(process)
        if ended is None:
            process.wait()
    taken = time.monotonic() - start
    if ended is None:
        return Run("hung", taken, 0, {})
    process.returncode = ended[0]
    status = os.waitstatus_to_exitcode(ended[0])
    # Of a process that is killed, `ashlar record` tells that the last events are lost.
    is_incomplete = before and status == 125 and "own exit status is 0" in last_words(folder)
    outcome = "ended" if status == 0 else "incomplete" if is_incomplete else "crashed"
    return Run(outcome, taken, ended[1].ru_maxrss / 1024, {})


def run_program(program, folder, library, before=()):
    """Runs `prepare` on the C library's malloc, then `run` on the one in question."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "out").mkdir(parents=True)
    seconds = program.get("seconds", 300)
    if "prepare" in program:
        prepared = run_script(program["prepare"], folder, None, seconds)
        if prepared.outcome != "ended":
            return prepared
    run = run_script(program["run"], folder, library, seconds, before)
    if run.outcome == "ended":
        run.digests = digests_in(folder)
    return run


def difference(run, reference):
    names = sorted(run.digests.keys() | reference.digests.keys())
    return [name for name in names if run.digests.get(name) != reference.digests.get(name)]


def is_idle(program, folder, run):
    """Equal outputs prove nothing where nothing was done."""
    if set(run.digests) == {"stdout"} and not (folder / "stdout").read_bytes():
        return True
    stdout = (folder / "stdout").read_text(errors="replace")
    return "proof" in program and not re.search(program["proof"], stdout, re.MULTILINE)


def programs_in(table, kind=""):
    for name, each in table.items():
        if "run" in each:
            commands, _, packages = each.get("needs", name).partition(":")
            needs = {"commands": commands.split(), "packages": (packages or commands).split()}
            yield {"name": name, "kind": kind} | needs | each
        else:
            yield from programs_in(each, name)


def is_missing(program):
    """The script `requires` tells whether what the commands need is there."""
    if not all(shutil.which(command) for command in program["commands"]):
        return True
    needed = ["bash", "-c", program.get("requires", "true")]
    return subprocess.run(needed, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode != 0


def report_on_largest(ashlar, folder):
    """Returns (outcome, seconds, events) of a report on the largest of the traces of a program's processes."""
    traces = list(folder.glob("trace*"))
    if not traces:
        return "no trace", 0, "0"
    largest = max(traces, key=lambda path: path.stat().st_size)
    start = time.monotonic()
    report = subprocess.run([ashlar, "report", largest], capture_output=True, text=True, errors="replace", check=False)
    seconds = time.monotonic() - start
    events = re.search(r"([0-9,]+) events?", report.stdout)
    events = events[1] if events and report.returncode == 0 else "0"
    return "empty" if events == "0" else "same" if seconds < REPORT_SECONDS else "slow", seconds, events


def last_words(folder):
    lines = (folder / "stderr").read_text(errors="replace").splitlines()
    return "".join(f"    {line}\n" for line in lines[-8:])


class Table:
    """The closing table, a line for each program and level, printed as they come."""

    def __init__(self):
        self.failures = 0
        self.missing = []
        self.rows = {}
        print(f"{'program':22} {'level':10} {'outcome':10} {'seconds':>8} {'peak MiB':>9}")

    def add(self, name, level, run, outcome, details=""):
        # A child counts the peak of the process that it was forked from.
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        peak = f"{run.peak_mib:.1f}" if run.peak_mib > own else f"< {own:.0f}"
        print(f"{name:22} {level:10} {outcome:10} {run.seconds:8.2f} {peak:>9}", flush=True)
        self.rows.setdefault(name, {})[level] = outcome
        if outcome not in ("same", "reference", "own bug"):
            self.failures += 1
            print(details, end="", flush=True)

    def add_report(self, name, outcome, seconds, events):
        print(f"{name:22} {'report':10} {outcome:10} {seconds:8.2f} {events} events", flush=True)
        self.rows[name] |= {"events": events, "report": f"{seconds:.1f}"}
        self.failures += outcome != "same"

    def add_missing(self, program):
        self.missing.append(program["name"])
        print(f"{program['name']:22} {'':10} missing    of {', '.join(program['packages'])}")

    def write_rows(self, path, programs):
        columns = ["fast", "checked", "hardened", "record", "events", "report"]
        with open(path, "w", encoding="utf-8") as out:
            for program in programs:
                row = self.rows.get(program["name"], {})
                cells = [program["name"], program["kind"], *(row.get(column, "not run") for column in columns)]
                out.write(f"| {' | '.join(cells)} |\n")

    def close(self, programs):
        print(f"{len(programs) - len(self.missing)} programs, {len(self.missing)} missing, {self.failures} failures")
        return 1 if self.failures or len(self.missing) == len(programs) else 0


def keep(folder, name):
    """Gives the folder of a run its own name, and so makes room for the next: outputs may hold the path."""
    shutil.rmtree(folder.with_name(name), ignore_errors=True)
    folder.rename(folder.with_name(name))


def judge(program, level, run, reference, folder, table):
    differing = difference(run, reference) if run.outcome == "ended" else []
    outcome = "different" if differing else "same" if run.outcome == "ended" else run.outcome
    details = "".join(f"    differs: {name}\n" for name in differing[:5]) or last_words(folder)
    if outcome == "crashed" and "own_bug" in program and program["own_bug"] in (folder / "stderr").read_text():
        outcome = "own bug"
    table.add(program["name"], level, run, outcome, details)


def compare(program, libraries, recorder, folder, table):
    here = folder / program["name"] / "run"
    reference = run_program(program, here, None)
    if reference.outcome != "ended":
        table.add(program["name"], REFERENCE, reference, reference.outcome, last_words(here))
        return
    if is_idle(program, here, reference):
        table.add(program["name"], REFERENCE, reference, "idle", last_words(here))
        return
    table.add(program["name"], REFERENCE, reference, "reference")
    keep(here, "reference")
    for level, library in libraries.items():
        run = run_program(program, here, library)
        judge(program, level, run, reference, here, table)
        keep(here, level)
    if recorder:
        before = (recorder, "record", "-q", "-o", here / "trace", "--")
        judge(program, "record", run_program(program, here, None, before), reference, here, table)
        table.add_report(program["name"], *report_on_largest(recorder, here))
        keep(here, "record")


def is_loaded(library):
    """A library that the loader refuses would leave every program the same."""
    maps = subprocess.run(["cat", "/proc/self/maps"], env=os.environ | {"LD_PRELOAD": str(library)}, check=False,
                          capture_output=True, text=True)
    return maps.returncode == 0 and str(library) in maps.stdout


def chosen(programs, arguments):
    unknown = set(arguments.only) - {program["name"] for program in programs}
    if unknown:
        sys.exit(f"run.py: no program {', '.join(sorted(unknown))}")
    return [program for program in programs if (not arguments.only or program["name"] in arguments.only)
            and (not arguments.quick or program.get("quick")) and (not arguments.kinds or program["kind"])]


def main():
    parser = argparse.ArgumentParser(description="Runs real programs on a preloaded malloc.")
    parser.add_argument("--library", action="append", default=[], metavar="LEVEL=PATH")
    parser.add_argument("--record", type=Path, metavar="ASHLAR", help="the command, whose recorder is tried too")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="the programs of a few seconds alone")
    parser.add_argument("--kinds", action="store_true", help="the programs chosen by kind alone")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="where the table goes as Markdown")
    parser.add_argument("--table", type=Path, action="append", help="in place of programs.toml and by_kind.toml")
    parser.add_argument("--keep", type=Path, help="where the folders of the runs stay")
    arguments = parser.parse_args()
    libraries = {level: Path(path).resolve() for level, _, path in (each.partition("=") for each in arguments.library)}
    for library in libraries.values():
        if not is_loaded(library):
            sys.exit(f"run.py: the loader does not take {library}")
    tables = arguments.table or [HERE / "programs.toml", HERE / "by_kind.toml"]
    programs = [each for table in tables for each in programs_in(tomllib.loads(table.read_text()))]
    programs = chosen(programs, arguments)
    table = Table()
    with tempfile.TemporaryDirectory(prefix="ashlar-programs-") as temporary:
        folder = arguments.keep or Path(temporary)
        for program in programs:
            if is_missing(program):
                table.add_missing(program)
            else:
                compare(program, libraries, arguments.record and arguments.record.resolve(), folder, table)
    if arguments.rows:
        table.write_rows(arguments.rows, programs)
    return table.close(programs)


if __name__ == "__main__":
    sys.exit(main())
