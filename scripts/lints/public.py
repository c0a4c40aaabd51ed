# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Users see the rooms alone: what they read uses no detail, and the names directly in ashlar:: stay few."""
import re

RULE = "examples, pages and consumers use no detail; few names stand directly in ashlar::"

READ_BY_USERS = ("examples/", "docs/", "tests/consumer/", "tests/docs_examples/", "README.md")
INTERNALS = "docs/internals/"
DETAIL = re.compile(r"ashlar/detail/\w+/\w+\.hpp>|\bashlar::detail::")
MOST_NAMES = 160

OPENED = re.compile(r"^(?:inline )?namespace ([\w:]+) \{$")
CLOSED = re.compile(r"^\}\s*// namespace")
ATTRIBUTES = r"(?:\[\[\w+\]\] |inline |constexpr |constinit |ASHLAR_\w+ |alignas\([^)]*\) )*"
DECLARED = (
    re.compile(r"^using (?:\w+::)+(\w+);"),
    re.compile(rf"^{ATTRIBUTES}(?:class|struct|union|enum class|enum|concept|using)\s+(\w+)\b(?!::)"),
    re.compile(r"^inline (?:constexpr|constinit) .*?(\w+)(?:<.*>)? ?[={;]"),
    re.compile(rf"^{ATTRIBUTES}[\w:<>,&* ]+?[ &*](\w+)\("),
)
NOT_DECLARED = re.compile(r"^(template|static_assert|requires|friend|[ /}#@]|$)")
DIRECTLY = ["ashlar", "ASHLAR_ABI"]


def names_in(file):
    """The names that a header declares directly in ashlar::, with their lines. Declarations begin a line."""
    opened = []
    for number, line in enumerate(file.lines, 1):
        opening = OPENED.match(line)
        if opening:
            opened.append(opening.group(1))
        elif CLOSED.match(line):
            opened = opened[:-1]
        elif opened == DIRECTLY and not NOT_DECLARED.match(line):
            declared = next((match for match in (each.match(line) for each in DECLARED) if match), None)
            if declared:
                yield declared.group(1), number


def check(tree):
    for file in tree.files:
        if not file.path.startswith(READ_BY_USERS) or file.path.startswith(INTERNALS):
            continue
        for number, line in enumerate(file.lines, 1):
            if DETAIL.search(line):
                yield file.problem(number, f"users see no detail: {line.strip()}")
    names = {}
    for file in tree.library:
        for name, number in names_in(file):
            names.setdefault(name, (file, number))
    if len(names) > MOST_NAMES:
        file, number = list(names.values())[-1]
        yield file.problem(number, f"{len(names)} names stand directly in ashlar::, at most {MOST_NAMES} may")


MANY = "\n".join(f"struct name_{i};" for i in range(MOST_NAMES + 1))
FEW = "".join(f"struct name_{i};\n" for i in range(MOST_NAMES))
HEAD, TAIL = "namespace ashlar {\ninline namespace ASHLAR_ABI {\n", "\n}  // namespace ASHLAR_ABI\n}  // namespace ashlar\n"
PLANTED = [
    {"examples/a.cpp": "#include <ashlar/detail/slab/slab.hpp>\n"},
    {"docs/a.md": "`ashlar::detail::slab`\n"},
    {"include/ashlar/base/a.hpp": HEAD + MANY + TAIL},
    {"include/ashlar/base/a.hpp": HEAD + FEW + "using detail::one_more;" + TAIL},
]
CLEAN = [
    {"examples/a.cpp": "#include <ashlar/resource/block_pool.hpp>\n", "docs/internals/a.md": "`ashlar::detail::slab`\n",
     "include/ashlar/base/a.hpp": HEAD + FEW + "namespace detail {\n" + MANY + "\n}  // namespace detail\n" + TAIL},
]
