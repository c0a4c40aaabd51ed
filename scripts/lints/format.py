# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""clang-format decides the layout, so that nobody has to."""
import re
import shutil
import subprocess
from pathlib import Path

RULE = "C++ is laid out by clang-format"

STYLE = Path(__file__).resolve().parents[2] / ".clang-format"
PROGRAM = "clang-format-19"
FOUND = re.compile(r"^(.+?):(\d+):\d+: (?:error|warning): (.+?) \[-Wclang-format-violations\]$", re.MULTILINE)


def command(*options):
    return [shutil.which(PROGRAM) or PROGRAM, f"--style=file:{STYLE}", *options]


def check(tree):
    if not tree.cpp:
        return
    if not shutil.which(PROGRAM):
        yield tree.cpp[0].problem(1, f"{PROGRAM} is not installed, so the layout was not checked")
        return
    by_name = {str(file.full): file for file in tree.cpp}
    run = subprocess.run(command("--dry-run", *by_name), capture_output=True, text=True, check=False)
    seen = set()
    for name, line, _ in FOUND.findall(run.stderr):
        if name not in seen:
            seen.add(name)
            yield by_name[name].problem(int(line), "not laid out by clang-format; run ./dev format")


PLANTED = [{"cli/a.cpp": "int   main( ){return 0 ;}\n"}]
CLEAN = [{"cli/a.cpp": "int main() { return 0; }\n"}]
