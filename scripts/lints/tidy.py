# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""clang-tidy: names, and the mistakes that a compiler does not warn of.

All headers are looked at in one translation unit, so that what they share is parsed once.
"""
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lints.tree import Problem

RULE = "clang-tidy finds nothing: names and common mistakes"

PROGRAM = "clang-tidy-19"
RUNNER = "run-clang-tidy-19"
CONFIG = Path(__file__).resolve().parents[2] / ".clang-tidy"
FOUND = re.compile(r"^(/.+?):(\d+)(?::\d+)?: (?:fatal )?(?:error|warning): (.+)$", re.MULTILINE)



def run(*command, cwd):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def output_for_headers(tree):
    unit = tree.root / "build/tidy/every_header.cpp"
    unit.write_text("".join(f"#include <{file.path.removeprefix('include/')}>\n" for file in tree.library))
    return run(PROGRAM, "--quiet", str(unit), "--", "-std=c++20", "-Iinclude", cwd=tree.root).stdout


def output_for_command(tree):
    return run(RUNNER, "-quiet", "-p", "build/tidy", "-j", str(os.cpu_count()), r"/cli/", cwd=tree.root).stdout


def output_for_repository(tree):
    configured = run("cmake", "--preset", "tidy", cwd=tree.root)
    if configured.returncode != 0:
        return f"{tree.root}/CMakePresets.json:1: error: cannot configure: {configured.stderr.strip()}"
    with ThreadPoolExecutor() as pool:
        outputs = [pool.submit(look, tree) for look in (output_for_headers, output_for_command)]
        return "".join(output.result() for output in outputs)


def output_for_folder(tree):
    return run(PROGRAM, "--quiet", f"--config-file={CONFIG}", *(file.path for file in tree.cpp), "--", "-std=c++20",
               cwd=tree.root).stdout


def check(tree):
    if not tree.cpp:
        return
    if not (shutil.which(PROGRAM) and shutil.which(RUNNER)):
        yield tree.cpp[0].problem(1, f"{PROGRAM} is not installed, so nothing was looked for")
        return
    by_name = {str(file.full.resolve()): file for file in tree.files}
    output = output_for_repository(tree) if tree.is_repository else output_for_folder(tree)
    for name, line, text in sorted(set(FOUND.findall(output))):
        file = by_name.get(str(Path(name).resolve()))
        yield file.problem(int(line), text) if file else Problem(name, int(line), text)


PLANTED = [
    {"cli/a.cpp": "class Widget {};\n"},
    {"cli/a.cpp": "class widget {\n  int count = 0;\n};\n"},
    {"cli/a.cpp": "#define LOUD 1\nint a = LOUD;\n"},
    {"cli/a.cpp": "#include <string>\nunsigned long f(std::string s) {\n  return s.size();\n}\n"},
]
CLEAN = [{"cli/a.cpp": "template <class Upstream>\nclass widget {\n  int count_ = 0;\n};\nint answer = 42;\n"}]
