# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""family.py [--planted] <table> <library of ours> … -- <other malloc> …: each function of the other mallocs and of the C
library that could make or take a block is in the table, and each of ours defines all that the table has as one family.
With --planted the test shows that it finds a function without a line, and a name that ours lack."""
import re
import subprocess
import sys

OF_MEMORY = re.compile(r"alloc|free|memalign|mallinfo|mallopt|strdup$")
OPERATOR = re.compile(r"_Z(n[wa]|d[la]|l[wa])")


def functions_of(library):
    rows = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    for _, kind, name in (row.split() for row in rows.splitlines()):
        if kind in "TWi":
            yield name.split("@")[0]


def is_of_memory(name):
    return not name.startswith("_Z") or OPERATOR.match(name)


def c_library():
    with open("/proc/self/maps", encoding="utf-8") as lines:
        return next(line.split()[-1] for line in lines if re.search(r"/libc[.-][^/]*so", line))


class Table:
    def __init__(self, path):
        self.family, self.of_mallocs, self.apart = set(), set(), []
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                kind, _, rest = line.strip().partition(" ")
                if kind == "all":
                    self.family.update(rest.split())
                elif kind == "malloc":
                    self.of_mallocs.update(rest.split())
                elif kind == "apart":
                    names, _, reason = rest.partition("  ")
                    assert reason, f"no reason: {line}"
                    self.apart.append(re.compile(names))

    def has(self, name):
        return name in self.family | self.of_mallocs or any(each.fullmatch(name) for each in self.apart)


def problems(table, ours, others, more=()):
    for library in ours:
        wanted = table.family if "record" in library.rpartition("/")[2] else table.family | table.of_mallocs
        for name in sorted(wanted - set(functions_of(library))):
            yield f"{library} lacks {name}"
    for library in others:
        for name in filter(is_of_memory, [*functions_of(library), *more]):
            if not table.has(name):
                yield f"{library} has {name}, of which the table says nothing"
    for name in filter(OF_MEMORY.search, functions_of(c_library())):
        if not table.has(name):
            yield f"the C library has {name}, of which the table says nothing"


def main():
    words = sys.argv[1:]
    planted = "--planted" in words
    words = [word for word in words if word != "--planted"]
    at = words.index("--")
    table, ours, others = Table(words[0]), words[1:at], words[at + 1:]
    if planted:
        table.family.add("ashlar_no_such_name")
        found = list(problems(table, ours, others, ["yallocx"]))
        wanted = len(ours) + len(others)
        sys.exit(0 if len(found) == wanted else f"found {len(found)} of {wanted} planted faults: {found}")
    found = list(problems(table, ours, others))
    print("\n".join(found))
    sys.exit(len(found) != 0)


main()
