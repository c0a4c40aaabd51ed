# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Workflow files of the public forge: actionlint reads them where it is installed. Each configuration of ./dev test and
each room is named as it is in the tree. An action is pinned by its commit, since its owner can move a tag."""
import re
import shutil
import subprocess

RULE = "workflow files pass actionlint, run each configuration of ./dev test and rooms that exist, and pin actions"

FOLDER = ".github/workflows/"
VERB = "scripts/dev/test.sh"
CONFIGURATIONS = re.compile(r"^all=\(([^)]*)\)", re.MULTILINE)
MATRIX = re.compile(r"^\s+name: \[([^\]]*)\]", re.MULTILINE)
ROOMS = re.compile(r"^\s+ROOMS: (\S+)$", re.MULTILINE)
FOUND = re.compile(r"^.+?:(\d+):\d+: (.+)$", re.MULTILINE)
USES = re.compile(r"^\s+(?:- )?uses: *(.+)$", re.MULTILINE)
PINNED = re.compile(r"[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*|\./.*")
TABS = re.compile(r"^ *\t", re.MULTILINE)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def wrong_names(tree, file):
    verb = next((each for each in tree.files if each.path == VERB), None)
    wanted = CONFIGURATIONS.search(verb.text).group(1).split() if verb else []
    for matrix in MATRIX.finditer(file.text):
        named = [name.strip() for name in matrix.group(1).split(",")]
        for name in sorted(set(wanted) ^ set(named)):
            yield file.problem(line_of(file.text, matrix.start(1)),
                               f"configuration {name} of ./dev test is {'not run' if name in wanted else 'unknown'}")
    for rooms in ROOMS.finditer(file.text):
        for room in rooms.group(1).split(";"):
            folder = "tests/" + room.replace("detail_", "detail/", 1) + "/"
            if not any(each.path.startswith(folder) for each in tree.files):
                yield file.problem(line_of(file.text, rooms.start(1)), f"there is no room {room}")


def unpinned(file):
    for action in USES.finditer(file.text):
        if not PINNED.fullmatch(action.group(1).strip()):
            yield file.problem(line_of(file.text, action.start(1)),
                               f"{action.group(1)} is not pinned: owner/name@<40 digits of a commit> # v<version>")


def check(tree):
    for file in tree.files:
        if not file.path.startswith(FOLDER):
            continue
        tab = TABS.search(file.text)
        if tab:
            yield file.problem(line_of(file.text, tab.end()), "a tab indents nothing in YAML")
        yield from wrong_names(tree, file)
        yield from unpinned(file)
        if shutil.which("actionlint"):
            run = subprocess.run(["actionlint", "-no-color", "-oneline", "-shellcheck=", str(file.full)],
                                 capture_output=True, text=True, check=False)
            for line, text in FOUND.findall(run.stdout):
                yield file.problem(int(line), text)


VERB_TEXT = "all=(lint gcc)\n"
JOB = ("on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    strategy:\n      matrix:\n        name: [{}]\n"
       "    env:\n      ROOMS: {}\n    steps:\n      - run: ./dev test ${{{{ matrix.name }}}}\n")
USE = "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - uses: actions/checkout@{}\n"
PLANTED = [
    {VERB: VERB_TEXT, FOLDER + "ci.yml": JOB.format("lint", "base"), "tests/base/a.test.cpp": ""},
    {VERB: VERB_TEXT, FOLDER + "ci.yml": JOB.format("lint, gcc, msvc", "base"), "tests/base/a.test.cpp": ""},
    {VERB: VERB_TEXT, FOLDER + "ci.yml": JOB.format("lint, gcc", "base;attic"), "tests/base/a.test.cpp": ""},
    {FOLDER + "ci.yml": "on: push\njobs:\n\ta: {}\n"},
    {FOLDER + "ci.yml": USE.format("v4")},
    {FOLDER + "ci.yml": USE.format("0123456789abcdef0123456789abcdef01234567")},
]
CLEAN = [{VERB: VERB_TEXT, FOLDER + "ci.yml": JOB.format("lint, gcc", "base;detail_slab"), "tests/base/a.test.cpp": "",
          "tests/detail/slab/a.test.cpp": ""},
         {FOLDER + "docs.yml": USE.format("0123456789abcdef0123456789abcdef01234567 # v4.2.2")}]
