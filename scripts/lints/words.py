# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nothing is left for later, and nothing knows the machine that it was written on."""
import re

RULE = "no notes for later, no paths of one machine"

# In pieces, so that this file does not find itself.
LATER = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")
MACHINE = re.compile(r"(?<![\w.$}/-])/(" + "|".join(("wo" + "rk", "ho" + "me", "ro" + "ot", "Use" + "rs")) + r")/\w")


def check(tree):
    for file in tree.files:
        if file.path == "LICENSE" or "\0" in file.text:
            continue
        for number, line in enumerate(file.lines, 1):
            if LATER.search(line):
                yield file.problem(number, "a note for later: do it, or file it elsewhere")
            if MACHINE.search(line):
                yield file.problem(number, "a path of one machine")


PLANTED = [{"cli/a.cpp": "// TO" + "DO: later\n"}, {"bench/run.sh": "cd /ho" + "me/someone/x\n"}]
CLEAN = [{"cli/a.cpp": "// todo lists are allocated here\nconst auto p = root / home;\n"}]
