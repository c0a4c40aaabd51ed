# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every public type has a page and an example that runs, links of pages lead somewhere, C code is compiled, and pages
are short."""
import posixpath
import re

from .public import names_in as public_names

RULE = ("types of fwd.hpp have a page and a compiled example, names of ashlar:: a page; links resolve; pages stay short, and "
        "speak of threads before their first example")

DECLARED = re.compile(r"^(?:class|struct) (\w+);|^using (\w+) =", re.MULTILINE)
FORWARD = "include/ashlar/fwd.hpp"
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
EXAMPLE = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)
C_CODE = re.compile(r"^```c\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Programs do not spell these: they are defaults, aggregates given by braces, and bases of types with an example.
UNSPELLED = {"arena_options", "base_delete", "basic_budget", "basic_numa_resource", "basic_pages", "by_padding",
             "construct_on_acquire", "constructed", "error_log", "file_sink", "heap_options", "huge_page_calls", "no_steps", "numa_calls",
             "options", "pool_set_options", "populated", "raw_codec", "reserved_huge_pages", "resource_delete",
             "system_calls", "threshold", "throw_when_exhausted", "tlsf_scale", "tlsf_wide"}
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
MENTION = re.compile(r"(?<![\w/.-])(?:docs|bench|cli|examples|scripts|tests|model|malloc|fuzz)/[\w/.-]+"
                     r"\.(?:md|py|sh|cpp|hpp)\b")
WORD = re.compile(r"\S*\w\S*")
MOST_WORDS = 900
# Pages for look-ups, not for reading from top to bottom.
UNBOUNDED = {"choosing", "fault-matrix", "faults", "reference", "replay", "trace-format"}
INDENTED = re.compile(r"^ {4}.*$", re.MULTILINE)
CODE_SPAN = re.compile(r"`[^`\n]*`")


def is_page(file):
    """Pages that are read where they stand; others are templates."""
    stands_here = "/" not in file.path or file.path.startswith("docs/") or file.path.endswith("README.md")
    return file.path.endswith(".md") and stands_here


def is_manual(file):
    return file.path.startswith("docs/") and file.path.endswith(".md")


def without_code(text):
    """The text with its code blanked out, line for line, so that positions stay."""
    for pattern in (FENCED, INDENTED, CODE_SPAN):
        text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    return text


def anchor_of(heading):
    """The anchor that hosts of Markdown give a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.replace("\\", "").strip().lower())
    return kept.replace(" ", "-")


def anchors_in(text):
    return {anchor_of(heading) for heading in HEADING.findall(FENCED.sub("", text))}


def broken_links(file, tree):
    anchors = {each.path: each for each in tree.files}
    for match in LINK.finditer(without_code(file.text)):
        target, _, anchor = match.group(1).partition("#")
        if re.match(r"\w+:", target):
            continue
        line = file.text.count("\n", 0, match.start()) + 1
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file.path), target)) if target else file.path
        if not (tree.root / path).exists():
            yield file.problem(line, f"links to {target}, which does not exist")
        elif anchor and path in anchors and anchor not in anchors_in(anchors[path].text):
            yield file.problem(line, f"links to {path}#{anchor}, where no heading has that anchor")


def dead_mentions(file, tree):
    for number, line in enumerate(file.lines, 1):
        for path in MENTION.findall(line):
            if not tree.has(path):
                yield file.problem(number, f"names {path}, which does not exist")


def too_long(file):
    folder, name = posixpath.split(file.path)
    words = len(WORD.findall(file.text))
    if folder == "docs" and name.removesuffix(".md") not in UNBOUNDED and words > MOST_WORDS:
        yield file.problem(1, f"has {words} words, more than {MOST_WORDS}: mechanisms belong to docs/internals/")


def silent_about_threads(file):
    """What a page shows first is copied first, into programs with threads too."""
    example = EXAMPLE.search(file.text)
    if example and "thread" not in file.text[:example.start()]:
        yield file.problem(1, "does not speak of threads before its first example: may several use what it shows?")


def uncompiled(file, programs):
    """C code of a page that is no part of a program in C; a test compiles the C++ code."""
    for match in C_CODE.finditer(file.text):
        if not any(match.group(1) in program.text for program in programs):
            line = file.text.count("\n", 0, match.start()) + 1
            yield file.problem(line, "has C code that is in no program of examples/")


def names_in(texts):
    return set(re.findall(r"\w+", "\n".join(texts)))


def undocumented(forward, manual, examples):
    described = names_in(page.text for page in manual)
    shown = names_in([block for page in manual for block in EXAMPLE.findall(page.text)] + [e.text for e in examples])
    for match in DECLARED.finditer(forward.text):
        name = match.group(1) or match.group(2)
        line = forward.text.count("\n", 0, match.start()) + 1
        if name not in described:
            yield forward.problem(line, f"declares {name}, which no page of docs/ names")
        elif name not in shown | UNSPELLED:
            yield forward.problem(line, f"declares {name}, which no example uses")


def unnamed(tree, manual):
    described = names_in(page.text for page in manual)
    for file in tree.library:
        for name, line in public_names(file):
            if name not in described:
                yield file.problem(line, f"declares {name} in ashlar::, which no page of docs/ names")


def check(tree):
    manual = [file for file in tree.files if is_manual(file)]
    examples = [file for file in tree.files if file.is_cpp and file.path.startswith("examples/")]
    programs = [file for file in tree.files if file.path.startswith("examples/") and file.path.endswith(".c")]
    yield from unnamed(tree, manual)
    for file in tree.files:
        if file.path == FORWARD:
            yield from undocumented(file, manual, examples)
        elif is_page(file):
            yield from broken_links(file, tree)
            yield from too_long(file)
            yield from silent_about_threads(file)
            yield from dead_mentions(file, tree)
            yield from uncompiled(file, programs)
        elif file.is_cpp or file.path.startswith("bench/"):
            yield from dead_mentions(file, tree)


PLANTED = [
    {FORWARD: "template <class T>\nclass forgotten;\n", "docs/a.md": "`remembered`\n",
     "examples/a.cpp": "forgotten f;\n"},
    {FORWARD: "using forgotten = remembered<1>;\n", "docs/a.md": "`remembered`, and forgotten_by_half\n"},
    {FORWARD: "class forgotten;\n", "README.md": "`forgotten`\n"},
    {"include/ashlar/base/a.hpp": "namespace ashlar::ASHLAR_ABI {\nstruct forgotten {};\n}\n"},
    {FORWARD: "class unused;\n", "docs/a.md": "`unused`\n\n    unused u;\n"},
    {"README.md": "[a page](docs/gone.md)\n"},
    {"docs/a.md": "# A\n[b](b.md#how)\n", "docs/b.md": "# How it works\n"},
    {"docs/a.md": "# A\n[below](#b)\n"},
    {"cli/a.cpp": "// See docs/gone.md.\n"},
    {"cli/a.cpp": "// See bench/heap/gone.py.\n"},
    {"docs/a.md": "`tests/base/gone.test.cpp`\n"},
    {"docs/a.md": "word " * (MOST_WORDS + 1)},
    {"docs/a.md": "```c\nint x = 1;\n```\n", "examples/a.c": "int x = 2;\n"},
    {"docs/a.md": "# A\n```cpp\nint x = 1;\n```\nOne thread at a time.\n"},
]
CLEAN = [
    {FORWARD: "class kept;\nusing also = kept;\n", "docs/a.md": "`kept<int>`, also, in any thread\n```cpp\nkept<int> k;\n```\n",
     "examples/a.cpp": "also a;\n"},
    {"docs/a.md": "# A\n[b](b.md#how-it-works), [c](../README.md#a)\n", "docs/b.md": "## How it works\n",
     "README.md": "# `a`\n"},
    {"docs/faults.md": "word " * (MOST_WORDS + 1), "docs/internals/a.md": "word " * (MOST_WORDS + 1)},
    {"cli/a.cpp": "// See docs/a.md.\n", "docs/a.md": "| " * MOST_WORDS},
    {"docs/a.md": "```c\nint x = 1;\n```\n", "examples/a.c": "int y;\nint x = 1;\n"},
    {"docs/a.md": "    heap.inspect([](const piece& p) { ... });\n`[x](y.md)` [web](https://example.org/#x)\n"},
]
