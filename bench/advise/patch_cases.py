# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in two builds, as they are and with the patch that advice names; and inputs to run both on."""

import dataclasses
import functools
import json
import re
import shutil
import subprocess

from support.sample_programs import found

from . import inputs
from .cases import DRIVERS

INCLUDE = DRIVERS.parent.parent.parent / "include"
OPERATORS = """
        using pool = ashlar::pool_allocator<Token, ashlar::one_thread>;
        static void *operator new(std::size_t) { return pool().allocate(1); }
        static void operator delete(void *p) { pool().deallocate(static_cast<Token *>(p), 1); }
"""


@dataclasses.dataclass(frozen=True)
class Program:
    """A driver with its patch in it, or sources in a folder of this name: there the patch replaces a text of one file."""

    name: str
    driver: str = ""
    units: tuple = ()
    file: str = ""
    text: str = ""
    by: str = ""

    def missing(self, sources):
        present = not self.units or (sources and (sources / self.name / self.file).exists())
        return "" if present else f"--sources has no {self.name}/{self.file}"

    @functools.cache
    def build(self, folder, sources, patched):
        """Returns: the program, compiled with the patch or without, once."""
        copy = folder / f"{self.name}_{'patched' if patched else 'original'}"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir(parents=True)
        if self.units:
            shutil.copytree(sources / self.name, copy, dirs_exist_ok=True)
        if self.units and patched:
            content = (copy / self.file).read_text()
            if self.text not in content:
                raise LookupError(f"{self.name}/{self.file} has no '{self.text}' to patch")
            include = "#include <ashlar/face/pool_allocator.hpp>\n"
            (copy / self.file).write_text(include + content.replace(self.text, self.by, 1))
        units = [*([DRIVERS / self.driver] if self.driver else []), *(copy / unit for unit in self.units)]
        command = [found("clang++-19", "clang++", "g++"), "-std=c++20", "-O2", "-g", "-DNDEBUG", "-w", "-Wl,--build-id"]
        command += [f"-I{copy}", f"-I{copy}/include", f"-I{INCLUDE}", *(["-DPATCHED"] if patched else [])]
        subprocess.run(list(map(str, [*command, *units, "-o", copy / "program"])), check=True)
        return copy / "program"


@dataclasses.dataclass(frozen=True)
class Pair:
    """A program on inputs of one kind, and its sites that the patch concerns."""

    name: str
    patch: str
    program: Program
    sites: str  # a pattern of their functions
    arguments: object  # (folder, seed) -> arguments
    prepare: object = lambda folder, seed: None
    environment: dict = dataclasses.field(default_factory=dict)

    def plan(self, advice, advised):
        """Returns: the plan of advice with the sites of the patch alone, and the allocations of these sites."""
        first, *groups = map(json.loads, advised.splitlines())
        for group in groups:
            group["sites"] = [site for site in group["sites"] if re.search(self.sites, site["function"])]
        kept = [group for group in groups if group["sites"]]
        calls = sum(allocations(advice, site) for group in kept for site in group["sites"])
        return "".join(json.dumps(line) + "\n" for line in (first, *kept)), calls


def allocations(advice, planned):
    """Of all sites in the advice whose chain begins with that of a planned one."""
    chain = [tuple(frame) for frame in planned["chain"]]
    chains = ((site, [(frame["build_id"], frame["offset"]) for frame in site["chain"]]) for site in advice["sites"])
    return sum(site["features"]["allocated"]["objects"] for site, begins in chains if begins[:len(chain)] == chain)


DRIVER = Program("patches", "patches.cpp")
SIMPLECPP = Program("simplecpp", "", ("simplecpp.cpp", "main.cpp"), "simplecpp.h", "class SIMPLECPP_LIB Token {\n    public:",
                    f"class SIMPLECPP_LIB Token {{\n    public:{OPERATORS}")
JSONCPP = Program("jsoncpp", "json.cpp", tuple(f"src/lib_json/json_{part}.cpp" for part in ("reader", "value", "writer")),
                  "include/json/value.h", "std::map<CZString, Value> ObjectValues;",
                  "std::map<CZString, Value, std::less<CZString>, "
                  "ashlar::pool_allocator<std::pair<const CZString, Value>, ashlar::one_thread>> ObjectValues;")


def driven(mode, patch, size, rounds):
    sites = {"trees": "make<", "retained": "::tokens$"}.get(mode, f"::{mode}$")
    return Pair(f"{mode}-{size}", patch, DRIVER, sites,
                lambda folder, seed: (mode, size, rounds, seed))


def on_file(program, patch, sites, size, name, make):
    return Pair(f"{program.name}-{size}", patch, program, sites, lambda folder, seed: (folder / name,),
                lambda folder, seed: (folder / name).write_text(make(seed, size)))


RING = driven("ring", "operator new", 1_000_000, 1)
PAIRS = (
    *(driven("tokens", "operator new", *shape) for shape in ((8000, 25), (120_000, 2))),
    driven("retained", "operator new, pool keeps all", 120_000, 2),
    *(driven("words", "pool_allocator", *shape) for shape in ((5000, 14), (30_000, 1))),
    *(driven("index", "pool_allocator", *shape) for shape in ((10_000, 30), (80_000, 1))),
    *(driven("orders", "pool_allocator", *shape) for shape in ((20_000, 3), (60_000, 1))),
    *(driven("queues", "pool_allocator", *shape) for shape in ((20_000, 20), (120_000, 1))),
    *(driven("trees", "arena", *shape) for shape in ((24, 17), (500, 1))),
    *(on_file(SIMPLECPP, "operator new", "readfile$|preprocessToken|acroToken", size, "input.cpp", inputs.macros) for size in (500, 1500)),
    *(on_file(JSONCPP, "pool_allocator", "Value::(resolveReference|append)", size, "input.json", inputs.json_text) for size in (4000, 15_000)),
)
