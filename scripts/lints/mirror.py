# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is built is tested, and one finds the test by the name of the header."""
RULE = "include/ashlar/<room>/<file>.hpp and tests/<room>/<file>.test.cpp come in pairs"

SUFFIX = ".test.cpp"


def check(tree):
    rooms = {file.room for file in tree.library if file.room}
    for file in tree.library:
        if not file.room:
            continue
        test = f"tests/{file.room}/{file.path.split('/')[-1].removesuffix('.hpp')}{SUFFIX}"
        if not tree.has(test):
            yield file.problem(1, f"has no {test}")
    for file in tree.files:
        parts = file.path.split("/")
        if parts[0] != "tests" or len(parts) != 3 or parts[1] not in rooms or not file.path.endswith(SUFFIX):
            continue
        header = f"include/ashlar/{parts[1]}/{parts[2].removesuffix(SUFFIX)}.hpp"
        if not tree.has(header):
            yield file.problem(1, f"tests no header: there is no {header}")


PLANTED = [
    {"include/ashlar/base/bits.hpp": ""},
    {"include/ashlar/base/bits.hpp": "", "tests/base/bits.test.cpp": "", "tests/base/bobs.test.cpp": ""},
]
CLEAN = [
    {"include/ashlar/ashlar.hpp": "", "include/ashlar/base/bits.hpp": "", "tests/base/bits.test.cpp": "",
     "tests/cli/record.test.cpp": ""},
]
