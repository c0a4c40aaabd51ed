# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An option that was learned at one type has the same name at the next: members of options come from one list."""
import re

RULE = "members of options in public headers come from a closed list"

# A new word is a decision: one of these may have its meaning.
WORDS = {
    # limits, growth, memory kept for reuse
    "max_bytes", "max_count", "max_cell_bytes", "max_cached_cells", "decay_ms", "initial_bytes", "growth", "growth_count",
    "max_growth_bytes", "max_growth_count", "retain_bytes", "retain_count", "retain_regions", "retain_slabs",
    # sizes and shapes
    "cell_bytes", "cell_alignment", "slab_bytes", "page_bytes", "room_bytes", "granule",
    # behaviour
    "renew_empty", "first_generation",
    # trace::reader, trace::writer
    "accept_prefix", "skew_ns", "command_line", "process", "start_unix_ns", "stack_depth", "chunk_records",
    # plan::solve
    "effort", "nodes", "time", "capacity", "base_alignment", "seed", "previous", "stop", "on_progress",
    # test::checking_allocator
    "propagate_on_copy_assignment", "propagate_on_move_assignment", "propagate_on_swap", "always_equal", "fresh_on_copy",
    "default_constructible", "fancy_pointer",
}

OPENS = re.compile(r"^(\s*)(?:struct|class) (?:\[\[\w+\]\] )?(?:\w+_)?options\b[^;{]*\{")
BRACKETS = re.compile(r"<[^<>]*>|\{[^{}]*\}|\([^()]*\)|\[[^][]*\]")
INITIALISER = re.compile(r"\s*[=:;].*$")
MEMBER = re.compile(r"(?:^|[\s*&])(\w+)$")
COMMENT = re.compile(r"//.*$")


def declared_in(code):
    """The names that a line declares: without types' arguments, array bounds, widths and initialisers."""
    code, found = code.replace("::", ""), 1
    while found:
        code, found = BRACKETS.subn("", code)
    parts = (INITIALISER.sub("", part).rstrip() for part in code.split(","))
    return [match.group(1) for match in map(MEMBER.search, parts) if match]


def members_of(file):
    """The data members of structs named `options` or `..._options`, with their lines. clang-format has laid them out: each
    begins at one depth, and what continues it stands deeper."""
    end = None
    for number, line in enumerate(file.lines, 1):
        code = COMMENT.sub("", line).rstrip()
        if end is None:
            opening = OPENS.match(code)
            if opening and not code.endswith("};"):
                end, depth = opening.group(1) + "};", len(opening.group(1)) + 2
        elif code == end:
            end = None
        elif len(code) - len(code.lstrip()) == depth:
            for name in declared_in(code) if code.endswith((";", "=")) else ():
                yield name, number


def check(tree):
    for file in tree.library:
        if file.room.startswith("detail/"):
            continue
        for name, number in members_of(file):
            if name not in WORDS:
                yield file.problem(number, f"the option {name} is not in the vocabulary (scripts/lints/vocabulary.py)")


PLANTED = [
    {"include/ashlar/resource/a.hpp": "struct a_options {\n  std::size_t most = 1;\n};\n"},
    {"include/ashlar/plan/a.hpp": "struct options {\n  plan::effort effort{};\n  int keep_bytes;  ///< bytes\n};\n"},
    {"include/ashlar/heap/a.hpp": "struct a_options {\n  std::size_t keep =\n      limit();\n  bool renew_empty = true;\n};\n"},
    {"include/ashlar/heap/a.hpp": "struct a_options {\n  int keep[3] = {};\n};\n"},
    {"include/ashlar/heap/a.hpp": "struct a_options {\n  std::size_t max_bytes = f(0, 1), keep = 0;\n};\n"},
    {"include/ashlar/heap/a.hpp": "class a_options {\npublic:\n  int keep = 0;\n};\n"},
    {"include/ashlar/os/a.hpp": "struct a_options {\n  std::function<void(int)> on_thing{};\n};\n"},
]
CLEAN = [
    {"include/ashlar/resource/a.hpp": "struct a_options;\nstruct a_options {\n  /// Bytes = all;\n"
                                      "  std::size_t max_bytes = max_size;  ///< most = none;\n"
                                      "  std::size_t max_count =\n      most;\n};\nstruct a {\n  int most;\n};\n",
     "include/ashlar/detail/slab/a.hpp": "struct a_options {\n  int most = 1;\n};\n",
     "tests/resource/a.test.cpp": "struct a_options {\n  int most = 1;\n};\n"},
]
