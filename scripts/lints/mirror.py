# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What users include is tested in its room. A mechanism of detail/ is tested through its rooms; its white-box tests stand in
a folder of its name, and headers may be joined or split below them."""
import re

RULE = "a test in tests/<room>/ includes include/ashlar/<room>/<file>.hpp; tests/detail/<mechanism>/ tests a mechanism"

INCLUDE = re.compile(r"^#include <(ashlar/[\w/]+\.hpp)>", re.MULTILINE)
USE = "#include <ashlar/heap/heap.hpp>\n"

SUFFIX = ".test.cpp"
# What all others stand on, tested by subject.
GROUND = ("base", "os")


def check(tree):
    rooms = {file.room for file in tree.library if file.room}
    yield from headers_without_test(tree)
    for file in tree.files:
        room, _, name = file.path.removeprefix("tests/").rpartition("/")
        if not file.path.startswith("tests/") or not name.endswith(SUFFIX):
            continue
        if room.startswith("detail/") and room not in rooms:
            yield file.problem(1, f"tests no mechanism: there is no include/ashlar/{room}/")


def headers_without_test(tree):
    tested = set()
    for file in tree.files:
        room, _, name = file.path.removeprefix("tests/").rpartition("/")
        if file.path.startswith("tests/") and name.endswith((SUFFIX, ".hpp")):
            tested |= {(room, target) for target in INCLUDE.findall(file.text)}
    for file in tree.library:
        if not file.room or file.room in GROUND or file.room.startswith("detail/"):
            continue
        if (file.room, file.path.removeprefix("include/")) not in tested:
            yield file.problem(1, f"no test in tests/{file.room}/ includes it")


PLANTED = [
    {"include/ashlar/heap/heap.hpp": "", "tests/heap/heap.test.cpp": "", "tests/face/heap.test.cpp": USE},
    {"include/ashlar/detail/slab/slab.hpp": "", "tests/detail/slabs/slab.test.cpp": ""},
]
CLEAN = [
    {"include/ashlar/ashlar.hpp": "", "include/ashlar/base/bits.hpp": "", "include/ashlar/heap/heap.hpp": "",
     "tests/heap/pauses.test.cpp": USE, "include/ashlar/detail/slab/slab.hpp": "",
     "include/ashlar/detail/slab/slab_set.hpp": "", "tests/detail/slab/reuse.test.cpp": "",
     "tests/cli/record.test.cpp": ""},
]
