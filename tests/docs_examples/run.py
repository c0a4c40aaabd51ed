#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs every ```cpp block of README.md and docs/, in one program.

usage: run.py [--self-test] <the repository> <folder to work in> <compiler>

A block with a `main` stands in a namespace of its own, any other in a function; its #include lines go to the top. Text
on the error stream, such as a report of misuse or of a leak, fails the test. A fragment that cannot run is indented, not
fenced.
"""
import re
import subprocess
import sys
from pathlib import Path

OPENING = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n// The C++ blocks of the documentation.\n"
ALWAYS = ["#include <cstddef>", "#include <cstdio>", "#include <cstdlib>"]
PROGRAM = re.compile(r"^int main\(", re.MULTILINE)


class Block:
    def __init__(self, path, line, text):
        self.path, self.line = path, line
        lines = text.splitlines()
        self.includes = [each for each in lines if each.startswith("#include")]
        self.code = "\n".join("" if each.startswith("#include") else each for each in lines)
        self.is_program = bool(PROGRAM.search(self.code))

    def definition(self, number):
        where = f'#line {self.line} "{self.path}"\n'
        if self.is_program:
            return f"namespace block_{number} {{\n{where}{self.code}\n}}\n"
        return f"static int block_{number}() {{\n{where}{self.code}\nreturn 0;\n}}\n"

    def call(self, number):
        call = f"block_{number}::main()" if self.is_program else f"block_{number}()"
        return f'  std::puts("{self.path}:{self.line}");\n  if ({call} != 0) return 1;\n'


def blocks_of(path, text):
    """Yields the fenced C++ blocks of a page."""
    for match in re.finditer(r"^```cpp\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield Block(path, text.count("\n", 0, match.start()) + 2, match.group(1))


def program_of(blocks):
    includes = sorted({line for block in blocks for line in block.includes} | set(ALWAYS))
    parts = [OPENING, "\n".join(includes), "\n"]
    parts += [block.definition(number) for number, block in enumerate(blocks)]
    parts.append("int main() {\n  std::setvbuf(stdout, nullptr, _IONBF, 0);\n")
    parts += [block.call(number) for number, block in enumerate(blocks)]
    return "".join(parts) + "}\n"


def fault_in(blocks, root, work, compiler):
    """Returns what is wrong with the blocks; empty where nothing is."""
    work.mkdir(parents=True, exist_ok=True)
    source, program = work / "blocks.cpp", work / "blocks"
    source.write_text(program_of(blocks))
    command = [compiler, "-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{root / 'include'}", source,
               root / "malloc/no_heap_hooks.cpp", "-o", program]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return made.stderr
    run = subprocess.run([program], capture_output=True, text=True, check=False, timeout=300)
    if run.returncode != 0 or run.stderr:
        return f"{run.stdout}{run.stderr}exit code {run.returncode}"
    return ""


FAULTY = {
    "does not compile": "ashlar::no_such_type x;\n",
    "ends with an error": "std::exit(3);\n",
    "leaks": "#include <ashlar/resource/block_pool.hpp>\n"
             "ashlar::block_pool<> pool({.cell_bytes = 8});\nstatic_cast<void>(pool.allocate());\n",
}


def self_test(root, work, compiler):
    missed = [name for name, text in FAULTY.items()
              if not fault_in(list(blocks_of("planted.md", f"```cpp\n{text}```\n")), root, work, compiler)]
    print("\n".join(f"missed a block that {name}" for name in missed) or f"{len(FAULTY)} planted faults found")
    return 1 if missed else 0


def main(arguments):
    is_self_test = arguments[0] == "--self-test"
    root, work, compiler = Path(arguments[-3]), Path(arguments[-2]), arguments[-1]
    if is_self_test:
        return self_test(root, work, compiler)
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    blocks = [block for page in pages for block in blocks_of(page.relative_to(root), page.read_text())]
    fault = fault_in(blocks, root, work, compiler)
    print(fault or f"{len(blocks)} blocks compiled and run")
    return 1 if fault or not blocks else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
