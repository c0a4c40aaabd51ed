# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Users see the rooms alone: what they read uses no detail, and what allocates says which concepts it models. All names
are in the inline namespace of the ABI, so that builds of different levels do not link."""
import re

from .cpp import DIRECTIVE, NOISE, blank

RULE = "examples, pages and consumers use no detail; resources assert what they model; names of ashlar:: are in ASHLAR_ABI"

READ_BY_USERS = ("examples/", "docs/", "tests/consumer/", "tests/docs_examples/", "README.md")
INTERNALS = "docs/internals/"
DETAIL = re.compile(r"\bashlar/detail/[\w/]+\.hpp[>\"]|\bdetail::")
ALLOCATES = re.compile(r"\bvoid\* allocate\(std::size_t")
ASSERTS = re.compile(r"static_assert\((?:\w+_)?resource<")

BRACE = re.compile(r"[{}]")
OPENS = re.compile(r"\bnamespace ([\w:]+) $")
NO_CODE = re.compile(r"^(?:\}|namespace [\w:]+ \{|\s*$)")
ATTRIBUTES = r"(?:\[\[\w+\]\] |inline |constexpr |constinit |ASHLAR_\w+ |alignas\([^)]*\) )*"
DECLARED = (
    re.compile(r"^using (?:\w+::)+(\w+);"),
    re.compile(rf"^{ATTRIBUTES}(?:class|struct|union|enum class|enum|concept|using) {ATTRIBUTES}(\w+)\b(?!::)"),
    re.compile(r"^typedef .*?(\w+)(?:\)\(.*\))?;"),
    re.compile(r"^(?:inline )?(?:constexpr|constinit|const) [^(]*?(\w+)(?:<.*>)? ?[={;]"),
    re.compile(rf"^{ATTRIBUTES}[\w:<>,&* ]+?[ &*](\w+)\("),
)
NOT_DECLARED = re.compile(r"^(template|static_assert|requires|friend|[ /}#@]|$)")
DIRECTLY = "ashlar::ASHLAR_ABI"


def lines_in_namespaces(file):
    """Each line of code with its number and the namespace around it; other braces count as one without a name."""
    opened = []
    for number, line in enumerate(blank(blank(file.text, NOISE), DIRECTIVE).split("\n"), 1):
        yield number, line, "::".join(opened)
        for brace in BRACE.finditer(line):
            if brace.group() == "}":
                opened = opened[:-1]
            else:
                opening = OPENS.search(line, 0, brace.start())
                opened.append(opening.group(1) if opening else "")


def names_in(file):
    """The names that a header declares directly in ashlar::, with their lines. Declarations begin a line."""
    for number, line, opened in lines_in_namespaces(file):
        if opened == DIRECTLY and not NOT_DECLARED.match(line):
            declared = next((match for match in (each.match(line) for each in DECLARED) if match), None)
            if declared:
                yield declared.group(1), number


def outside_abi(file):
    """The first line of code in namespace ashlar that is outside of the inline namespace."""
    for number, line, opened in lines_in_namespaces(file):
        if opened.startswith("ashlar") and not opened.startswith(DIRECTLY) and not NO_CODE.match(line):
            return number
    return None


def check(tree):
    for file in tree.files:
        if not file.path.startswith(READ_BY_USERS) or file.path.startswith(INTERNALS):
            continue
        for number, line in enumerate(file.lines, 1):
            if DETAIL.search(line):
                yield file.problem(number, f"users see no detail: {line.strip()}")
    for file in tree.library:
        stray = outside_abi(file)
        if stray:
            yield file.problem(stray, "is in ashlar:: without ASHLAR_ABI: builds of different levels would link")
        if file.room in ("resource", "heap") and ALLOCATES.search(file.text) and not ASSERTS.search(file.text):
            yield file.problem(1, "allocates: which concepts of base/resource.hpp does it model? static_assert(resource<…>)")


HEAD, TAIL = "namespace ashlar::ASHLAR_ABI {\n", "\n}  // namespace ashlar::ASHLAR_ABI\n"
PLANTED = [
    {"examples/a.cpp": "#include <ashlar/detail/slab/slab.hpp>\n"},
    {"examples/a.cpp": '#include "ashlar/detail/heap/sub/slab.hpp"\n'},
    {"examples/a.cpp": "using namespace ashlar;\nint n = detail::slab;\n"},
    {"docs/a.md": "`ashlar::detail::slab`\n"},
    {"include/ashlar/base/a.hpp": "namespace ashlar {\nstruct a;\n}\n"},
    {"include/ashlar/base/a.hpp": "namespace ashlar::detail {\nstruct a;\n}  // namespace ashlar::detail\n"},
    {"include/ashlar/resource/a.hpp": HEAD + "struct a {\n  void* allocate(std::size_t bytes, std::size_t alignment);\n};" + TAIL},
]
CLEAN = [
    {"examples/a.cpp": "#include <ashlar/resource/block_pool.hpp>\n", "docs/internals/a.md": "`ashlar::detail::slab`\n",
     "include/ashlar/resource/a.hpp": HEAD + "struct a {\n  void* allocate(std::size_t bytes, std::size_t alignment);\n};\n"
                                      "static_assert(try_resource<a>);" + TAIL},
]
