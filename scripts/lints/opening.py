# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each file opens with its licence and one sentence that says what it is."""
import re

RULE = "files open with the licence and what they are; headers also have #pragma once and no `using namespace`"

LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
SOURCES = (".hpp", ".cpp", ".py", ".sh", ".cmake", ".yml", "CMakeLists.txt")
SENTENCE = re.compile(r'(//|#) \S|"""\S')


def check(tree):
    for file in tree.files:
        if not (file.path.endswith(SOURCES) or file.is_script):
            continue
        lines = file.lines
        first = 1 if lines and lines[0].startswith("#!") else 0
        if len(lines) < first + 2 or LICENCE not in lines[first]:
            yield file.problem(first + 1, "the licence line is missing")
        elif not SENTENCE.match(lines[first + 1]):
            yield file.problem(first + 2, "say in one sentence what this file is")
        if file.is_header:
            yield from check_header(file)


def check_header(file):
    if "#pragma once" not in file.lines:
        yield file.problem(1, "#pragma once is missing")
    for number, line in enumerate(file.lines, 1):
        if re.match(r"\s*using\s+namespace\b", line):
            yield file.problem(number, "`using namespace` in a header")


GOOD = f"// {LICENCE}\n// What it is.\n"
PLANTED = [
    {"cli/a.cpp": "int x;\n"},
    {"cli/a.cpp": f"// {LICENCE}\n\nint x;\n"},
    {"include/ashlar/base/a.hpp": GOOD},
    {"cli/a.hpp": GOOD + "#pragma once\nusing namespace std;\n"},
    {"dev": "#!/usr/bin/env bash\necho\n"},
]
CLEAN = [{"cli/a.hpp": GOOD + "#pragma once\n", "dev": f"#!/usr/bin/env bash\n# {LICENCE}\n# What it is.\n"}]
