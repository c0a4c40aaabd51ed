# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comments, messages and pages use the field's words, in plain sentences: phrases that the code base has given up stay
out."""
import re
import tokenize
from io import StringIO

from .docs import without_code

RULE = "comments, messages and pages avoid phrases that stand for a term of the field, or for nothing"

# Phrase -> what to write in its place.
BANNED = {
    "let be": "ignored, left as it is",
    "of its own accord": "unasked; name the trigger",
    "lest": "so that … not",
    "to and fro": "back and forth",
    "elsewhere": "name the place; of frees: remote",
    "whom": "rephrase with a noun",
    "who frees": "the freeing thread; the caller",
    "straight path": "fast path",
    "hot cells": "cached cells",
    "milestone": "sampled address",
    "shelf": "bin, partial slabs, segment cache",
    "pocket": "last-freed slot",
    "regret": "refaulted bytes",
    "strangers": "other threads",
    "at large": "cached",
    "be it": "whether",
    "cell word": "cell batch",
    "none of that": "name the thing",
    "shelves": "bins, partial slabs, segment caches",
    "such that are": "name the things",
    "whence": "from which",
    "whomever": "rephrase with a noun",
    "whosoever": "rephrase with a noun",
    "says": "name the content: gives, marks, reports",
    "nobody": "no thread, no code; name what is absent",
    "whoever": "the thread, the caller",
    "so many": "as many, the number of",
    "at hand": "cached, available",
    "for ever": "forever",
    "lately": "recently",
    "anew": "again",
    "whatever": "for any, regardless of",
    "good no longer": "no longer valid",
    "he": "name the thread or the caller",
    "his": "name the thread or the caller",
}
ANY = "|".join(phrase.replace(" ", r"\s+") for phrase in BANNED)
PHRASE = re.compile(rf"\b({ANY})s?\b", re.IGNORECASE)
# Literals come first, so that a comment inside one is none; code between literals and comments matches nothing.
CPP = re.compile(r'R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])*\''
                 r"|(?P<comment>//[^\n]*(?:\n[ \t]*//[^\n]*)*|/\*.*?\*/)", re.DOTALL)
HASH = re.compile(r"""\[(?P<mark>=*)\[.*?\](?P=mark)\]|"(?:\\.|[^"\\])*"|(?P<comment>(?<![^\s(])\#[^\n]*)""", re.DOTALL)
HASH_LINE = re.compile(r"^\s*(?P<comment>#[^\n]*)", re.MULTILINE)
SPAN = re.compile(r"`[^`\n]*`")
CONTINUED = re.compile(r"\n[ \t]*//+")
ROW = re.compile(r"^\|.*$", re.MULTILINE)
GENERATED = re.compile(r"docs/(?:benchmarks/.*|fault-matrix|internals/.*-measurements)\.md$")
LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"')
TALKING = re.compile(r"include/ashlar/|cli/(?!tests/)")


def blanked(pattern, text):
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def python_comments(text):
    """Returns (line, comment) of every comment; docstrings are strings."""
    tokens = tokenize.generate_tokens(StringIO(text).readline)
    return [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]


def matched_comments(pattern, text):
    found = (match for match in pattern.finditer(text) if match["comment"])
    return [(text.count("\n", 0, match.start("comment")) + 1, match["comment"]) for match in found]


def messages(file):
    """Returns (line, literal) of every literal of the library and the command: users read them."""
    if not TALKING.match(file.path):
        return []
    found = (match for match in CPP.finditer(file.text) if LITERAL.fullmatch(match.group()))
    return [(file.text.count("\n", 0, match.start()) + 1, match.group()) for match in found]


def prose_of(file):
    """Returns (first line, text) of every comment and message, or of the one page."""
    name = file.path.rsplit("/", 1)[-1]
    if name == "CHANGELOG.md":
        return []
    if name.endswith(".md"):
        text = without_code(file.text)
        return [(1, blanked(ROW, text) if GENERATED.match(file.path) else text)]
    if file.is_cpp:
        return matched_comments(CPP, file.text) + messages(file)
    if name.endswith(".py"):
        return python_comments(file.text)
    if name == "CMakeLists.txt" or name.endswith(".cmake"):
        return matched_comments(HASH, file.text)
    return matched_comments(HASH_LINE, file.text) if file.is_script else []


def check(tree):
    for file in tree.files:
        for first, text in prose_of(file):
            text = blanked(CONTINUED, blanked(SPAN, text))
            for match in PHRASE.finditer(text):
                phrase = " ".join(match.group(1).lower().split())
                line = first + text.count("\n", 0, match.start())
                yield file.problem(line, f'"{phrase}" in a comment, message or page; better: {BANNED[phrase]}')


PLANTED = [
    {"include/ashlar/base/b.hpp": "int x;  // of the hot cells\n"},
    {"cli/a.cpp": "// The table lies elsewhere.\n"},
    {"include/ashlar/base/a.hpp": 'auto s = "//";  /* one\n  milestone */\n'},
    {"bench/a.cpp": "const char c = '\"';  // A Shelf of slabs.\n"},
    {"cmake/a.cmake": "set(a b)  # the straight path\n"},
    {"CMakeLists.txt": "# lest it fails\n"},
    {"scripts/a.py": "a = 1  # kept in a pocket\n"},
    {"scripts/a.sh": "# be it so\n"},
    {"docs/a.md": "A block goes of its\nown accord.\n"},
    {"docs/a.md": "| block | elsewhere |\n"},
    {"include/ashlar/base/a.hpp": 'report("freed elsewhere");\n'},
    {"cli/a.cpp": 'print("it says so");\n'},
    {"tests/base/a.test.cpp": "// The word says\n// so many.\n"},
    {"include/ashlar/heap/a.hpp": "/// Cells at\n/// hand.\n"},
    {"include/ashlar/heap/b.hpp": 'report("rewound to a marker that is good no longer");\n'},
]
CLEAN = [
    {"bench/c.cpp": "// A remote free; `shelf` is a name.\nconst char* text = \"elsewhere\";\n"},
    {"bench/a.cpp": 'print("elsewhere");  // The shelflife of `pocket`, at 1\'000\'000 pockets_.\n'},
    {"cli/tests/b.cpp": 'auto s = R"(// a shelf)"; auto pocket = shelf(1\'000, "// lest");\n'},
    {"cmake/a.cmake": 'message("# elsewhere")\nset(a [[\n# a shelf ]])\n'},
    {"scripts/a.py": '"""A shelf."""\npocket = "# elsewhere"\n'},
    {"scripts/a.sh": 'pocket="a#shelf"  # fine\n'},
    {"docs/a.md": "Call `pocket()`.\n\n    elsewhere();\n\n```cpp\n// a shelf\n```\n",
     "docs/benchmarks/a.md": "| milestone | 3 |\n"},
    {"CHANGELOG.md": "- Blocks lie elsewhere.\n"},
]
