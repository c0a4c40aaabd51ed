# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""clang-tidy over the library: names, and the mistakes that a compiler does not warn of.

All headers are looked at in one translation unit, so that what they share is parsed once. The command is another rule
(tidy_command), since it takes minutes.
"""
import re
import shutil
import subprocess
from pathlib import Path

from lints.tree import Problem

RULE = "clang-tidy finds nothing in the headers: names and common mistakes"

PROGRAM = "clang-tidy-19"
CONFIG = Path(__file__).resolve().parents[2] / ".clang-tidy"
FOUND = re.compile(r"^(/.+?):(\d+)(?::\d+)?: (?:fatal )?(?:error|warning): (.+)$", re.MULTILINE)


def run(*command, cwd):
    """Returns what the program says. One that crashes found nothing, which is a finding."""
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    crash = "" if ended.returncode in (0, 1) else f"{cwd}/.clang-tidy:1: error: {command[0]} ended with {ended.returncode}"
    return ended.stdout + crash


def output_for_repository(tree):
    unit = tree.root / "build/tidy/every_header.cpp"
    unit.parent.mkdir(parents=True, exist_ok=True)
    unit.write_text("".join(f"#include <{file.path.removeprefix('include/')}>\n" for file in tree.library))
    return run(PROGRAM, "--quiet", f"--config-file={CONFIG}", str(unit), "--", "-std=c++20", "-Iinclude", cwd=tree.root)


def output_for_folder(tree):
    return run(PROGRAM, "--quiet", f"--config-file={CONFIG}", *(file.path for file in tree.cpp), "--", "-std=c++20",
               cwd=tree.root)


def problems_in(tree, output):
    by_name = {str(file.full.resolve()): file for file in tree.files}
    for name, line, text in sorted(set(FOUND.findall(output))):
        file = by_name.get(str(Path(name).resolve()))
        yield file.problem(int(line), text) if file else Problem(name, int(line), text)


def check(tree, output_of=output_for_repository):
    if not tree.cpp:
        return
    if not shutil.which(PROGRAM):
        yield tree.cpp[0].problem(1, f"{PROGRAM} is not installed, so nothing was looked for")
        return
    yield from problems_in(tree, output_of(tree) if tree.is_repository else output_for_folder(tree))


PLANTED = [
    {"cli/a.cpp": "class Widget {};\n"},
    {"cli/a.cpp": "class widget {\n  int count = 0;\n};\n"},
    {"cli/a.cpp": "#define LOUD 1\nint a = LOUD;\n"},
    {"cli/a.cpp": "#include <string>\nunsigned long f(std::string s) {\n  return s.size();\n}\n"},
]
CLEAN = [{"cli/a.cpp": "template <class Upstream>\nclass widget {\n  int count_ = 0;\n};\nint answer = 42;\n"}]
