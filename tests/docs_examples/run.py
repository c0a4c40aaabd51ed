#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs every ```cpp block of README.md and docs/, in one program and in one library.

usage: run.py [--self-test] <the repository> <folder to work in> <compiler> [<flag>…]

A block with a `main` stands in a namespace of its own, any other in a function; its #include lines go to the top. Text
on the error stream, such as a report of misuse or of a leak, fails the test. A fragment that cannot run is indented, not
fenced.

What a page shows first is copied first. So each block also runs in two threads at the same time, in forked children of a
process with threads, after main, and in a library that is closed before a thread that has used it: see HOW. There the
static objects of a block are each thread's own, as the other objects are. A block that says ONE_THREAD runs once, and
after main.
"""
import re
import subprocess
import sys
from pathlib import Path

OPENING = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n// The C++ blocks of the documentation.\n"
ALWAYS = ["#include <cstddef>", "#include <cstdio>", "#include <cstdlib>"]
PROGRAM = re.compile(r"^int main\(", re.MULTILINE)
STATIC_OBJECT = re.compile(r"\bstatic (?=constinit |std::array)")
ONE_THREAD = "// In one thread of the program:"
HOW = ("once", "threads", "forks", "exit", "library")
STAY_LOADED = ("docs/process-heap.md", "docs/migrating.md")  # as the page demands: these are not in the library


class Block:
    def __init__(self, path, line, text):
        self.path, self.line = path, line
        lines = text.splitlines()
        self.includes = [each for each in lines if each.startswith("#include")]
        code = "\n".join("" if each.startswith("#include") else each for each in lines)
        self.code = STATIC_OBJECT.sub("thread_local ", code)
        self.is_program = bool(PROGRAM.search(self.code))
        self.is_of_one_thread = ONE_THREAD in text

    def definition(self, number):
        where = f'#line {self.line} "{self.path}"\n'
        if self.is_program:
            return f"namespace block_{number} {{\n{where}{self.code}\n}}\n"
        return f"int block_{number}() {{\n{where}{self.code}\nreturn 0;\n}}\n"

    def declaration(self, number):
        return f"namespace block_{number} {{ int main(); }}\n" if self.is_program else f"int block_{number}();\n"

    def row(self, number):
        run = f"block_{number}::main" if self.is_program else f"block_{number}"
        return f'    {{"{self.path}:{self.line}", {run}, {str(self.is_of_one_thread).lower()}}},\n'


def blocks_of(path, text):
    """Yields the fenced C++ blocks of a page."""
    for match in re.finditer(r"^```cpp\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield Block(path, text.count("\n", 0, match.start()) + 2, match.group(1))


def text_of(blocks):
    """Returns a source file with the blocks, each of which has a number."""
    includes = sorted({line for _, block in blocks for line in block.includes} | set(ALWAYS))
    return "".join([OPENING, "\n".join(includes), "\n", *(block.definition(number) for number, block in blocks)])


def table_of(blocks):
    parts = [OPENING, '#include "tests/docs_examples/block.hpp"\n', *(block.declaration(number) for number, block in blocks)]
    rows = "".join(block.row(number) for number, block in blocks)
    parts += [f"const documented_block documented_blocks[] = {{\n{rows}}};\n"]
    return "".join(parts) + f"const std::size_t documented_count = {len(blocks)};\n"


def sources_of(blocks):
    """Returns the text of each file of the program and of the library."""
    numbered = list(enumerate(blocks))
    loaded = [(number, block) for number, block in numbered if str(block.path) in STAY_LOADED]
    others = [(number, block) for number, block in numbered if str(block.path) not in STAY_LOADED]
    return {"blocks": text_of(others), "loaded": text_of(loaded), "table": table_of(numbered), "library_table": table_of([each for each in others if not each[1].is_of_one_thread])}


OWN = ("malloc/no_heap_hooks.cpp", "tests/docs_examples/host.cpp")  # of every program


def commands(root, work, compiler, flags, has_own):
    """Yields what makes the program, the library and its host. `has_own`: what is ours in them is compiled already."""
    compile_ = [compiler, "-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-pthread", "-fPIC", *flags, f"-I{root / 'include'}", f"-I{root}"]
    own = () if has_own else (root / each for each in OWN)
    for source in [*own, *sorted(work.glob("*.cpp"))]:
        yield [*compile_, "-c", source, "-o", work / f"{source.stem}.o"]
    for made, options, parts in (("program", ["-rdynamic", "-ldl"], ["no_heap_hooks", "host", "blocks", "loaded", "table"]),
                                 ("library.so", ["-shared"], ["blocks", "library_table"]),
                                 ("host", ["-rdynamic", "-ldl"], ["no_heap_hooks", "host"])):
        yield [*compile_, *(work / f"{part}.o" for part in parts), *options, "-o", work / made]


def outcome_of(work, how):
    """Returns what is wrong with the blocks, run in one way; empty where nothing is."""
    command = [work / "host", how, work / "library.so"] if how == "library" else [work / "program", how]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    except subprocess.TimeoutExpired as late:
        return f"{how}: {(late.stdout or b'').decode()}no end after {late.timeout} s\n"
    if run.returncode != 0 or run.stderr:
        return f"{how}: {run.stdout}{run.stderr}exit code {run.returncode}\n"
    return ""


def fault_in(blocks, root, work, compiler, flags, has_own=False):
    """Returns what is wrong with the blocks; empty where nothing is."""
    work.mkdir(parents=True, exist_ok=True)
    for name, text in sources_of(blocks).items():
        (work / f"{name}.cpp").write_text(text)
    for command in commands(root, work, compiler, flags, has_own):
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            return made.stderr
    # A child of a process with threads may not start any under ThreadSanitizer.
    return "".join(outcome_of(work, how) for how in HOW if how != "forks" or "-fsanitize=thread" not in flags)


POOL = "#include <list>\n#include <ashlar/face/pool_allocator.hpp>\n"
FAULTY = {
    "does not compile": "ashlar::no_such_type x;\n",
    "ends with an error": "std::exit(3);\n",
    "leaks": "#include <ashlar/resource/block_pool.hpp>\n"
             "ashlar::block_pool<> pool({.cell_bytes = 8});\nstatic_cast<void>(pool.allocate());\n",
    "shares a pool of one thread": f"{POOL}std::list<int, ashlar::pool_allocator<int, ashlar::one_thread>> numbers(1000);\n",
}


def self_test(root, work, compiler, flags):
    missed = [name for number, (name, text) in enumerate(FAULTY.items())
              if not fault_in(list(blocks_of("planted.md", f"```cpp\n{text}```\n")), root, work, compiler, flags, number > 0)]
    print("\n".join(f"missed a block that {name}" for name in missed) or f"{len(FAULTY)} planted faults found")
    return 1 if missed else 0


def main(arguments):
    is_self_test = arguments[0] == "--self-test"
    root, work, compiler, *flags = arguments[is_self_test:]
    root, work = Path(root), Path(work)
    if is_self_test:
        return self_test(root, work, compiler, flags)
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    blocks = [block for page in pages for block in blocks_of(page.relative_to(root), page.read_text())]
    fault = fault_in(blocks, root, work, compiler, flags)
    print(fault or f"{len(blocks)} blocks compiled and run: {', '.join(HOW)}")
    return 1 if fault or not blocks else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
