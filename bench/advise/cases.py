# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs: commands of Debian packages, and small drivers over two libraries of it."""

import dataclasses
import pathlib
import subprocess

from malloc import scripts
from support.sample_programs import found

from . import inputs

DRIVERS = pathlib.Path(__file__).resolve().parent / "drivers"


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    heading: str
    wanted: tuple  # names of the command, the best first; none: a driver of this name
    prepare: object  # (folder, seed) -> None: writes the input
    arguments: object  # folder -> the command's arguments
    libraries: tuple = ()  # of a driver
    environment: dict = dataclasses.field(default_factory=dict)
    package: str = ""  # of Debian 12
    own_allocator: bool = False  # that serves its objects, so that malloc does not see them

    def command(self, folder, drivers):
        program = found(*self.wanted) if self.wanted else str(drivers / self.name)
        return [program, *map(str, self.arguments(folder))]

    def missing(self):
        """The reason why this machine cannot run it, or an empty text."""
        return f"{self.wanted[0]} is not on this machine" if self.wanted and not found(*self.wanted) else ""

    def compile(self, drivers):
        """A driver is compiled once for each version of its source."""
        source, program = DRIVERS / f"{self.name}.cpp", drivers / self.name
        if self.wanted or (program.exists() and program.stat().st_mtime > source.stat().st_mtime):
            return
        drivers.mkdir(parents=True, exist_ok=True)
        compiler = found("clang++-19", "clang++", "g++")
        command = [compiler, "-std=c++17", "-O2", "-g1", "-Wl,--build-id", "-I/usr/include/jsoncpp", source, "-o", program]
        subprocess.run([*command, *(f"-l{library}" for library in self.libraries)], check=True)


def writes(name, make):
    return lambda folder, seed: (folder / name).write_text(make(seed))


def writes_both(script, content, name, make):
    def write(folder, seed):
        (folder / script).write_text(content)
        (folder / name).write_text(make(seed))

    return write


CASES = (
    Case("cppcheck", "cppcheck on 100 functions", ("cppcheck",),
         writes("input.cpp", lambda seed: inputs.c_source(seed, 100)),
         lambda folder: ["-q", "--enable=all", "--output-file=/dev/null", folder / "input.cpp"]),
    Case("cppcheck_E", "cppcheck -E, its simplecpp alone", ("cppcheck",),
         writes("input.cpp", lambda seed: inputs.macros(seed, 1000)), lambda folder: ["-E", folder / "input.cpp"]),
    Case("sassc", "sassc on 1,000 rules", ("sassc",), writes("input.scss", lambda seed: inputs.scss(seed, 1000)),
         lambda folder: [folder / "input.scss"]),
    Case("json", "jsoncpp reads and writes 2 MB", (), writes("input.json", lambda seed: inputs.json_text(seed, 15_000)),
         lambda folder: [folder / "input.json"], ("jsoncpp",)),
    Case("yaml", "yaml-cpp reads 300 kB", (), writes("input.yaml", lambda seed: inputs.yaml_text(seed, 2200)),
         lambda folder: [folder / "input.yaml"], ("yaml-cpp",)),
    Case("gawk", "gawk counts and joins words", ("gawk",),
         writes_both("input.awk", scripts.GAWK, "words.txt", lambda seed: inputs.text(seed, 80_000)),
         lambda folder: ["-f", folder / "input.awk", folder / "words.txt"]),
    Case("xmllint", "xmllint reads and formats 6 MB", ("xmllint",), writes("input.xml", lambda seed: inputs.xml(seed, 30_000)),
         lambda folder: ["--format", folder / "input.xml"]),
    Case("clang", "clang++ -fsyntax-only on 600 functions", ("clang++-19", "clang++"),
         writes("input.cpp", lambda seed: inputs.c_source(seed, 600, inputs.STUBS)),
         lambda folder: ["-std=c++20", "-fsyntax-only", "-w", folder / "input.cpp"]),
    Case("jq", "jq groups and sorts records", ("jq",), writes("input.json", lambda seed: inputs.json_text(seed, 12_000)),
         lambda folder: ["-c", "group_by(.tags[0])[] | [.[0].tags[0], length, (map(.cents) | add)]", folder / "input.json"]),
    Case("lua", "lua makes trees, tables and strings", ("lua5.4", "lua"),
         writes_both("input.lua", inputs.LUA, "words.txt", lambda seed: inputs.text(seed, 80_000)),
         lambda folder: [folder / "input.lua", folder / "words.txt"]),
    Case("sqlite3", "sqlite3 fills and asks an indexed table in memory", ("sqlite3",),
         writes("input.sql", lambda seed: inputs.queries(seed, 50_000)),
         lambda folder: [":memory:", "-init", folder / "input.sql"]),
    Case("perl", "perl counts, sorts and rewrites words", ("perl",),
         writes_both("input.pl", scripts.PERL, "words.txt", lambda seed: inputs.text(seed, 60_000)),
         lambda folder: [folder / "input.pl", folder / "words.txt"], environment={"PERL_HASH_SEED": "0"}),
    Case("xz", "xz -T2 compresses 1.5 MB", ("xz",), writes("input.txt", lambda seed: inputs.text(seed, 250_000)),
         lambda folder: ["-T2", "-1", "--block-size=512KiB", "--stdout", folder / "input.txt"]),
    Case("sort", "sort --parallel=2", ("sort",), writes("input.txt", lambda seed: inputs.text(seed, 900_000, 3)),
         lambda folder: ["--parallel=2", "-k2", folder / "input.txt"], environment={"LC_ALL": "C"}),
)
