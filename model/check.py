#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every model on the shipped headers, and on copies of them with one fault planted each, which must be found.

Two checkers: the explorer, in model/explorer, always; and GenMC, under the memory models RC11 and IMM, where it is
installed (on the path, or named by $GENMC).
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from threading import Lock

from genmc.unfold import unfold
from switched import batch_of, kind_of, with_numbered_locks, with_switches

HERE = Path(__file__).resolve().parent
HEADERS = HERE.parent / "include"
STAND_INS = HERE / "stand_ins"
FLAGS = ["-std=c++20", "-fno-exceptions", "-DNDEBUG"]  # frees are sent only at level fast
TIME_LIMIT = 300  # many times what the longest one takes: a machine may be slow for minutes
TIME_LIMIT_OF_A_FAULT = 10  # under GenMC: it may well make a program that never ends
MEMORY_MODELS = ("rc11", "imm")

# GenMC treats each memory access as an event: values live in registers if possible, and no access is reordered.
PASSES = "cgscc(inline),function(sroa,simplifycfg,early-cse,adce)"


@dataclass
class Found:
    """What one checker says of one program."""
    failure: str = ""  # what promise was broken; empty: none
    executions: int = 0
    seconds: float = 0.0
    unknown: str = ""  # why the checker could not tell

    def for_people(self):
        if self.unknown:
            return f"could not tell: {self.unknown}"
        return self.failure or f"{self.executions} executions, {self.seconds:.2f} s"

    def for_record(self):
        if self.unknown:
            return {"unknown": self.unknown}
        return self.failure or {"executions": self.executions, "seconds": round(self.seconds, 2)}


@dataclass
class Case:
    """A model, on the shipped headers or on those of one mutant."""
    model: str
    mutant: str = ""
    file: str = ""
    headers: list = field(default_factory=lambda: [HEADERS])
    together: Path = None  # the headers of all faults that compile together
    number: int = -1  # of this one among them
    program: Path = None
    found: dict = field(default_factory=dict)


def run(command, limit=TIME_LIMIT, environment=None):
    """Returns (exit code or None where time was up, all it printed, seconds)."""
    begin = time.monotonic()
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit,
                              check=False, env={**os.environ, **(environment or {})})
        return done.returncode, done.stdout + done.stderr, time.monotonic() - begin
    except subprocess.TimeoutExpired:
        return None, "", time.monotonic() - begin


def must(command):
    code, output, _ = run(command)
    if code != 0:
        sys.exit(f"model: failed: {' '.join(map(str, command))}\n{output}")
    return output


class Compiler:
    """Compiles models for one checker, whose folder has a checker.hpp; what they all include is compiled once."""

    COMMON = "".join(f"#include <{name}>\n" for name in (
        "array", "atomic", "bit", "cstdio", "cstring", "limits", "memory", "span", "string_view", "thread", "checker.hpp",
        "ashlar/base/config.hpp"))

    def __init__(self, command, checker, work):
        self.command = [*command, *(f"-I{path}" for path in (HERE / checker, STAND_INS, HERE / "models"))]
        self.common = work / f"{checker}.hpp"

    def prepare(self):
        self.common.write_text(self.COMMON, encoding="utf-8")
        must([*self.command, f"-I{HEADERS}", "-x", "c++-header", self.common, "-o", f"{self.common}.gch"])

    def compile(self, source, headers, to):
        """Returns what is wrong with the source, in the compiler's words."""
        code, output, _ = run([*self.command, *(f"-I{path}" for path in headers), "-include", self.common, source,
                               "-o", to])
        return "" if code == 0 else f"does not compile: {output.strip()[:400]}"


class Explorer:
    name = "explorer"

    def __init__(self, compiler, work, built):
        self.work = work
        self.program = compiler
        is_fast = "clang++" in compiler and shutil.which(compiler.replace("clang++", "ld.lld"))
        self.linker = ["-fuse-ld=lld"] if is_fast else []
        self.compiler = Compiler([compiler, *FLAGS, "-c"], "explorer", work)
        self.version = must([compiler, "--version"]).splitlines()[0]
        self.objects = built
        self.made = {}  # what is wrong with each program, or nothing
        self.guard = Lock()  # of the locks: one thread alone makes that of a program
        self.making = defaultdict(Lock)
        self.together = defaultdict(set)  # by headers and kind: the models that compile together

    def prepare(self, pool, cases):
        """Compiles the explorer once, and proves it on programs whose outcomes are known, unless it is built."""
        for case in cases:
            if case.together:
                for model in case.model.split():
                    self.together[case.together, kind_of(HERE / "models" / f"{model}.cpp")].add(model)
        common = pool.submit(self.compiler.prepare)
        if self.objects:
            common.result()
            return
        *engine, main, litmus = pool.map(self._compile_part, ["memory", "explorer", "operations", "main", "litmus"])
        common.result()
        self.objects = [*engine, main]
        program = self.work / "litmus"
        must([self.program, *engine, litmus, "-o", program])
        print(f"explorer: {must([program]).strip()}")

    def _compile_part(self, name):
        made = self.work / f"{name}.o"
        must([self.program, *FLAGS, "-O2", "-U_FORTIFY_SOURCE", "-c", HERE / "explorer" / f"{name}.cpp", "-o", made])
        return made

    def check(self, case):
        """Looks for the fault by each of the models that may find it."""
        found = Found()
        for model in case.model.split():
            found = self._check(case, model)
            if found.failure:
                break
        return {self.name: found}

    def _check(self, case, model):
        if not case.together:
            program, headers, names, words = self.work / f"{model}.{case.mutant or 'shipped'}", case.headers, [model], []
        else:
            headers, words = [case.together, HEADERS], [case.number]
            kind = kind_of(HERE / "models" / f"{model}.cpp")
            names, program = sorted(self.together[case.together, kind]), self.work / f"of_{kind}.{case.together.name}"
        with self.guard:
            lock = self.making[program]
        with lock:
            if program not in self.made:
                self.made[program] = self._make(names, headers, program)
        return self.made[program] or self._read(*run([program, *words], environment={"ASHLAR_MODEL": model}))

    def _make(self, names, headers, program):
        """Returns what is wrong with the program of these models, or nothing."""
        source = HERE / "models" / f"{names[0]}.cpp"
        if len(names) > 1:
            source = program.with_suffix(f"{program.suffix}.cpp")
            source.write_text(batch_of(names, HERE / "models"), encoding="utf-8")
        if wrong := self.compiler.compile(source, headers, f"{program}.o"):
            return Found(unknown=wrong)
        must([self.program, *self.linker, f"{program}.o", *self.objects, "-o", program])
        return None

    @staticmethod
    def _read(code, output, seconds):
        if code is None:
            return Found(unknown="time was up")
        if code < 0:
            return Found(failure=f"ended by signal {-code}", seconds=seconds)
        verdict, _, counts = output.strip().splitlines()[-1].rpartition(": ")
        executions = int(counts.split()[0])
        return Found("" if verdict == "ok" else verdict, executions, seconds)


class GenMC:
    def __init__(self, program, compiler, work):
        self.program = program
        self.opt = opt_beside(compiler)
        self.work = work
        to_llvm = ["-O1", "-g1", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm"]
        self.compiler = Compiler([compiler, *FLAGS, *to_llvm], "genmc", work)
        self.version = (re.search(r"GenMC v[\d.]+.*", must([program, "--version"])) or [""])[0]

    def prepare(self, pool, _):
        pool.submit(self.compiler.prepare).result()

    def check(self, case):
        """The shipped headers under both memory models; a fault under the second only if the first misses it."""
        if case.model.startswith("heap_"):
            return {}  # thousands of words make an execution seconds long
        program = self.work / f"{case.model}.{case.mutant or 'shipped'}.ll"
        if wrong := self.compiler.compile(HERE / "models" / f"{case.model}.cpp", case.headers, program):
            return {MEMORY_MODELS[0]: Found(unknown=wrong)}
        must([self.opt, "-S", f"-passes={PASSES}", program, "-o", program])
        program.write_text(unfold(program.read_text(encoding="utf-8")), encoding="utf-8")
        case.program = program
        found = {}
        for memory_model in MEMORY_MODELS:
            found[memory_model] = self._check(case, memory_model)
            if case.mutant and (found[memory_model].failure or found[memory_model].unknown):
                break
        return found

    def _check(self, case, memory_model):
        # By default GenMC rewrites loops around a compare-exchange, and then misses a link written outside its loop.
        options = [f"--{memory_model}", "--disable-spin-assume", "--disable-estimation", "--input-from-bitcode-file"]
        code, output, seconds = run([self.program, *options, case.program],
                                    TIME_LIMIT_OF_A_FAULT if case.mutant else TIME_LIMIT)
        if code is None:
            return Found(unknown="time was up", seconds=seconds)
        counted = re.search(r"complete executions explored: (\d+)", output)
        if "No errors were detected" in output and counted:
            return Found(executions=int(counted[1]), seconds=seconds)
        failure = re.search(r"Error: (.*)", output)
        if failure and counted:
            return Found(failure=failure[1].rstrip("!. "), seconds=seconds)
        return Found(unknown=output.strip()[-400:])


def header(file):
    return (HEADERS / "ashlar" / file).read_text(encoding="utf-8")


def write(folder, file, text):
    copy = folder / "ashlar" / file
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(text, encoding="utf-8")


def mutants(work):
    """Plants each fault in a copy of its header; the other headers are the shipped ones."""
    listed = tomllib.loads((HERE / "mutants.toml").read_text(encoding="utf-8"))["mutant"]
    together, faults, cases = work / "mutants" / "together", defaultdict(list), []
    for number, one in enumerate(listed):
        text = header(one["file"])
        if text.count(one["find"]) != 1:
            sys.exit(f"model: mutant {one['name']}: its text stands {text.count(one['find'])} times in {one['file']}")
        folder = work / "mutants" / one["name"]
        write(folder, one["file"], text.replace(one["find"], one["replace"]))
        faults[one["file"]].append((number, one["find"], one["replace"]))
        cases.append(Case(one["model"], one["name"], one["file"], [folder, HEADERS], together, number))
    for file, some in faults.items():
        text, alone = with_switches(header(file), some)
        write(together, file, text)
        for number in alone:
            cases[number].together = None
    return cases


def left_out_locks(work):
    """Numbers the scopes of locks in copies of their headers, of which each case leaves one out."""
    together, texts, cases, count = work / "mutants" / "locks", {}, [], 0
    for one in tomllib.loads((HERE / "mutants.toml").read_text(encoding="utf-8"))["lock"]:
        file = one["file"]
        texts[file], scopes = with_numbered_locks(texts.get(file) or header(file), one, count)
        if not scopes:
            sys.exit(f"model: no scope of {one.get('scope_of') or one['entry']} in {file}")
        for number, (scope, function) in enumerate(scopes, count):
            if function not in one.get("unseen", []):
                cases.append(Case(" ".join(one["models"]), f"{scope} left out of {function}", file, [HEADERS], together,
                                  number))
        count += len(scopes)
    for file, text in texts.items():
        write(together, file, text)
    return cases


def is_found(case):
    """Whether a planted fault is known to a checker."""
    return bool(case.mutant) and any(found.failure for found in case.found.values())


def faults_of(case):
    """Yields what is wrong with what the checkers found."""
    for checker, found in case.found.items():
        if (found.failure or found.unknown) and not case.mutant:
            yield f"{checker}: {found.for_people()}"
    if case.mutant and not is_found(case):
        yield "no checker found the fault"
    if not case.mutant and "rc11" in case.found:
        counts = [case.found[checker].executions for checker in ("explorer", "rc11")]
        if counts[0] != counts[1]:
            yield f"the explorer and GenMC count differently: {counts}"


def report(cases, seconds):
    failed = 0
    for case in cases:
        name = f"{case.mutant} (in {case.file}, by {case.model})" if case.mutant else case.model
        faults = list(faults_of(case))
        failed += bool(faults)
        print(f"{'FAILED' if faults else 'ok':6} {name}: "
              + " · ".join(f"{checker}: {found.for_people()}" for checker, found in case.found.items()))
        for fault in faults:
            print(f"       {fault}")
    planted = sum(1 for case in cases if case.mutant)
    print(f"model: {len(cases) - planted} models, {planted} planted faults, {failed} failed, {seconds:.0f} s")
    return failed


def as_json(cases, checkers, seconds):
    def of(case):
        said = {checker: found.for_record() for checker, found in case.found.items()}
        planted = {"mutant": case.mutant, "file": case.file} if case.mutant else {}
        return {**planted, "model": case.model, "found": said}

    everything = {
        "checkers": {type(checker).__name__: checker.version for checker in checkers},
        "seconds": round(seconds),
        "models": [of(case) for case in cases if not case.mutant],
        "mutants": [of(case) for case in cases if case.mutant],
    }
    return json.dumps(everything, indent=1) + "\n"


def opt_beside(compiler):
    """LLVM's `opt` of the same version as the compiler, clang++-19 or so."""
    return shutil.which(compiler.replace("clang++", "opt"))


def genmc_program(compiler):
    """Returns (GenMC, "") or (None, why it is left out)."""
    program = shutil.which(os.environ.get("GENMC") or "genmc")
    if not program:
        return None, "GenMC is neither on the path nor named by $GENMC"
    if not opt_beside(compiler):
        return None, f"GenMC needs a clang++ of its LLVM's version and the opt of that version, not {compiler}"
    return program, ""


def chosen_cases(options):
    """The models whose names match, and the planted faults that one of them may find."""
    cases = [*mutants(options.work), *left_out_locks(options.work)]
    if not options.faults_only:
        cases = [Case(path.stem) for path in sorted((HERE / "models").glob("*.cpp"))] + cases
    return [case for case in cases if any(fnmatch(model, options.only) for model in case.model.split())]


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default=shutil.which("clang++-19") or "c++")
    parser.add_argument("--work", type=Path, default=HERE.parent / "build" / "model")
    parser.add_argument("--built", metavar="ARCHIVE", type=Path, nargs="+", default=[], help="an explorer that is built")
    parser.add_argument("--explorer-only", action="store_true", help="leave GenMC out even where it is installed")
    parser.add_argument("--faults-only", action="store_true", help="leave the shipped headers out")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="models whose names match, such as 'parcel_*'")
    parser.add_argument("--record", action="store_true", help="let each checker look for each fault, and write model/results/results.json")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args(words)
    if options.record and (options.faults_only or options.only != "*"):
        parser.error("a record is of all models and all faults")
    return options


def main():
    options = options_of(sys.argv[1:])
    begin = time.monotonic()
    options.work.mkdir(parents=True, exist_ok=True)
    checkers = [Explorer(options.compiler, options.work, options.built)]
    program, why_not = (None, "") if options.explorer_only else genmc_program(options.compiler)
    if program:
        checkers.append(GenMC(program, options.compiler, options.work))
    if why_not:
        print(f"skipped: all models and planted faults under RC11 and IMM, for {why_not}; the explorer runs them all")
    cases = chosen_cases(options)
    with ThreadPoolExecutor(options.jobs) as pool:
        for checker in checkers:
            checker.prepare(pool, cases)
        for checker in checkers:
            asked = [case for case in cases if options.record or not is_found(case)]
            for case, job in [(case, pool.submit(checker.check, case)) for case in asked]:
                case.found.update(job.result())
    seconds = time.monotonic() - begin
    failed = report(cases, seconds)
    if options.record:
        (HERE / "results" / "results.json").write_text(as_json(cases, checkers, seconds), encoding="utf-8")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
