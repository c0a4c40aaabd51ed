# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A reader climbs few stairs: the headers of a room with its mechanisms include each other seven floors deep at most."""
import re

HIGHEST = 7
RULE = f"the headers of the planner, and those of the heaps, stand on at most {HIGHEST} floors"

ROOMS = (
    ("plan", "detail/planner"),
    ("heap", "detail/heap", "detail/heap_threads"),
)
INCLUDE = re.compile(r"^#include <(ashlar/[\w/]+\.hpp)>", re.MULTILINE)


def floors(includes):
    """Returns {path: floor}: 1 for a header that includes no other, else one more than the highest below it."""
    known = {}

    def floor(path, above=()):
        if path in above:
            return HIGHEST + 1
        if path not in known:
            below = [floor(p, (*above, path)) for p in includes.get(path, ())]
            known[path] = 1 + max(below, default=0)
        return known[path]

    return {path: floor(path) for path in includes}


def check(tree):
    for room in ROOMS:
        folders = tuple(f"include/ashlar/{folder}/" for folder in room)
        headers = {file.path: file for file in tree.library if file.path.startswith(folders)}
        includes = {path: [p for p in ("include/" + p for p in INCLUDE.findall(file.text)) if p in headers]
                    for path, file in headers.items()}
        for path, floor in floors(includes).items():
            if floor > HIGHEST:
                yield headers[path].problem(1, f"stands on floor {floor}, or includes itself")


def chain(length, folder="detail/planner"):
    """Headers of which each includes the next."""
    return {f"include/ashlar/{folder}/h{n}.hpp": f"#include <ashlar/{folder}/h{n + 1}.hpp>\n" for n in range(length)}


PLANTED = [
    chain(HIGHEST) | {f"include/ashlar/detail/planner/h{HIGHEST}.hpp": ""},
    {"include/ashlar/plan/a.hpp": "#include <ashlar/detail/planner/b.hpp>\n",
     "include/ashlar/detail/planner/b.hpp": "#include <ashlar/plan/a.hpp>\n"},
    chain(HIGHEST, "detail/heap") | {f"include/ashlar/detail/heap/h{HIGHEST}.hpp": ""},
]
CLEAN = [
    chain(HIGHEST - 1) | {f"include/ashlar/detail/planner/h{HIGHEST - 1}.hpp": "#include <ashlar/base/config.hpp>\n",
                          "include/ashlar/heap/a.hpp": "#include <ashlar/detail/planner/h0.hpp>\n"},
]
