# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shell scripts parse, and shellcheck has nothing to say about them where it is installed."""
import re
import shutil
import subprocess

RULE = "shell scripts pass shellcheck"

FOUND = re.compile(r"^.+?:(\d+):\d+: (?:error|warning|note): (.+)$", re.MULTILINE)


def check_one(tree, file):
    parsed = subprocess.run(["bash", "-n", str(file.full)], capture_output=True, text=True, check=False)
    if parsed.returncode != 0:
        yield file.problem(1, parsed.stderr.strip().splitlines()[-1])
    elif shutil.which("shellcheck"):
        run = subprocess.run(["shellcheck", "--format=gcc", "--shell=bash", "--external-sources", file.path],
                             cwd=tree.root, capture_output=True, text=True, check=False)
        for line, text in FOUND.findall(run.stdout):
            yield file.problem(int(line), text)


def check(tree):
    for file in tree.files:
        if file.is_script:
            yield from check_one(tree, file)


PLANTED = [{"scripts/a.sh": "if true; then\n"}]
CLEAN = [{"scripts/a.sh": "#!/usr/bin/env bash\nset -e\necho \"$1\"\n"}]
