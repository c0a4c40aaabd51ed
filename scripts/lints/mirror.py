# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is built is tested, and one finds the test by the name of the header."""
RULE = "include/ashlar/<room>/<file>.hpp and tests/<room>/<file>.test.cpp come in pairs"

SUFFIX = ".test.cpp"
# Tables of the whole public API, which belong to no single header.
OF_ALL_HEADERS = ("tests/base/static_members.test.cpp", "tests/base/vocabulary.test.cpp")


def check(tree):
    rooms = {file.room for file in tree.library if file.room}
    for file in tree.library:
        if not file.room:
            continue
        test = f"tests/{file.room}/{file.path.split('/')[-1].removesuffix('.hpp')}{SUFFIX}"
        if not tree.has(test):
            yield file.problem(1, f"has no {test}")
    for file in tree.files:
        room, _, name = file.path.removeprefix("tests/").rpartition("/")
        if not file.path.startswith("tests/") or room not in rooms or not name.endswith(SUFFIX):
            continue
        if file.path in OF_ALL_HEADERS:
            continue
        header = f"include/ashlar/{room}/{name.removesuffix(SUFFIX)}.hpp"
        if not tree.has(header):
            yield file.problem(1, f"tests no header: there is no {header}")


PLANTED = [
    {"include/ashlar/base/block.hpp": ""},
    {"include/ashlar/base/block.hpp": "", "tests/base/block.test.cpp": "", "tests/base/clock.test.cpp": ""},
    {"include/ashlar/detail/slab/slab.hpp": "", "tests/slab/slab.test.cpp": ""},
]
CLEAN = [
    {"include/ashlar/ashlar.hpp": "", "include/ashlar/base/block.hpp": "", "tests/base/block.test.cpp": "",
     "include/ashlar/detail/slab/slab.hpp": "", "tests/detail/slab/slab.test.cpp": "",
     "tests/base/vocabulary.test.cpp": "", "tests/cli/record.test.cpp": ""},
]
