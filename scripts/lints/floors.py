# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A reader climbs few stairs, and opens few doors: a header includes others ten floors deep at most, none includes itself,
and behind the headers that users open first stand few others."""
import re

HIGHEST = 10
MOST_BEHIND = {"resource/arena": 20, "resource/block_pool": 30, "face/pool_allocator": 40, "heap/local_heap": 50, "heap/heap": 60}
RULE = (f"a header stands on at most {HIGHEST} floors; ashlar.hpp, which gathers all, on top of them; the most headers "
        "behind one: " + ", ".join(f"{name} {most}" for name, most in MOST_BEHIND.items()))

UMBRELLA = "include/ashlar/ashlar.hpp"
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


def behind(path, includes):
    """Returns the headers that a file of one include reads, but for that one."""
    found, left = set(), [path]
    while left:
        new = set(includes.get(left.pop(), ())) - found
        found |= new
        left += new
    return found - {path}


def check(tree):
    headers = {file.path: file for file in tree.library if file.path != UMBRELLA}
    includes = {path: [p for p in ("include/" + p for p in INCLUDE.findall(file.text)) if p in headers]
                for path, file in headers.items()}
    for path, floor in floors(includes).items():
        if floor > HIGHEST:
            yield headers[path].problem(1, f"stands on floor {floor}, or includes itself")
    for name, most in MOST_BEHIND.items():
        path = f"include/ashlar/{name}.hpp"
        if path not in headers and "include/ashlar/fwd.hpp" in headers:
            yield headers["include/ashlar/fwd.hpp"].problem(1, f"is beside no {name}.hpp, which has a limit here")
        if (count := len(behind(path, includes))) > most:
            yield headers[path].problem(1, f"has {count} headers behind it; {most} is the limit")


def chain(length):
    """Headers of which each includes the next."""
    return {f"include/ashlar/heap/h{n}.hpp": f"#include <ashlar/heap/h{n + 1}.hpp>\n" for n in range(length)}


PLANTED = [
    chain(HIGHEST) | {f"include/ashlar/heap/h{HIGHEST}.hpp": ""},
    {"include/ashlar/plan/a.hpp": "#include <ashlar/detail/planner/b.hpp>\n",
     "include/ashlar/detail/planner/b.hpp": "#include <ashlar/plan/a.hpp>\n"},
    {"include/ashlar/resource/arena.hpp": "".join(f"#include <ashlar/heap/h{n}.hpp>\n" for n in range(21))} |
    {f"include/ashlar/heap/h{n}.hpp": "" for n in range(21)},
]
CLEAN = [chain(HIGHEST) | {UMBRELLA: "#include <ashlar/heap/h0.hpp>\n"}]
