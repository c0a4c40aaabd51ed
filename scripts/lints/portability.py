# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What other compilers and other systems' headers refuse: extensions of GCC outside the headers of hints, and names that
headers of Windows define as macros."""
import re

from .cpp import DIRECTIVE, NOISE, blank

RULE = "extensions of GCC are behind base/config.hpp, base/atomics.hpp and base/platform.hpp; no name is a macro of Windows"

# __builtin_addressof is known to all compilers.
EXTENSION = re.compile(r"\b__builtin_(?!addressof\b)\w+|\b__(?:atomic|sync|ATOMIC)_\w+|\b__int128\b|"
                       r"\b__(?:attribute|extension|restrict|typeof|asm)(?:__)?\b|\basm\b|\b__thread\b|"
                       r"\b__PRETTY_FUNCTION__\b|\[\[(?:gnu|clang)::|\[\[no_unique_address\]\]")
# The others have ELF's weak symbols or a stack of Linux, and compile such code there alone.
MAY_EXTEND = ("include/ashlar/base/atomics.hpp", "include/ashlar/base/config.hpp",
              "include/ashlar/base/platform.hpp",
              "include/ashlar/detail/profiling/profilers.hpp",
              "include/ashlar/os/no_heap_scope.hpp", "include/ashlar/os/native.hpp")

# Lower-case macros of <windows.h> and of what it includes; NOMINMAX leaves min and max out.
DEFINED = re.compile(r"\b(far|near|small|hyper|interface|pascal|cdecl|environ|(?:rad|edt|lst|cmb|ctl|chx|frm|grp|ico|"
                     r"psh|rct|scr|stc)\d+)\b")


def check(tree):
    for file in tree.library:
        code = blank(blank(file.text, NOISE), DIRECTIVE)
        for number, line in enumerate(code.splitlines(), 1):
            extension = EXTENSION.search(line)
            if extension and not file.path.startswith(MAY_EXTEND):
                yield file.problem(number, f"{extension.group()}: give it a name in base/config.hpp")
            defined = DEFINED.search(line)
            if defined:
                yield file.problem(number, f"headers of Windows define {defined.group()}")


PLANTED = [
    {"include/ashlar/base/a.hpp": "if (x) __builtin_unreachable();\n"},
    {"include/ashlar/base/a.hpp": "void f() __attribute__((cold));\n"},
    {"include/ashlar/base/a.hpp": "const int order = __ATOMIC_RELAXED;\n"},
    {"include/ashlar/base/a.hpp": "[[gnu::cold]] void f();\n"},
    {"include/ashlar/base/a.hpp": "struct a { [[no_unique_address]] b c; };\n"},
    {"include/ashlar/base/a.hpp": "const bool small = n < 8;\n"},
    {"include/ashlar/resource/a.hpp": "int near(int far) noexcept;\n"},
]
CLEAN = [{
    "include/ashlar/base/a.hpp": "// a small block, far away\nconst auto* p = __builtin_addressof(small_);\n",
    "include/ashlar/base/config.hpp": "void f() __attribute__((cold));\n",
}]
