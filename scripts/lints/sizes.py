# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One idea per file, one step per function."""
import ast

from lints.cpp import functions

RULE = "files have at most 600 lines, functions at most 60"

LONGEST_FILE = 600
LONGEST_FUNCTION = 60
SOURCES = (".hpp", ".cpp", ".py", ".sh", ".cmake", "CMakeLists.txt", "dev", "run")


def functions_of(file):
    """Yields (first line, last line) of the functions of a C++ or Python file."""
    if file.is_cpp:
        yield from functions(file.text)
    elif file.path.endswith(".py"):
        for node in ast.walk(ast.parse(file.text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.lineno, node.end_lineno


def check(tree):
    for file in tree.files:
        if not file.path.endswith(SOURCES):
            continue
        if len(file.lines) > LONGEST_FILE:
            yield file.problem(len(file.lines), f"{len(file.lines)} lines; {LONGEST_FILE} is the limit")
        for first, last in functions_of(file):
            if last - first + 1 > LONGEST_FUNCTION:
                yield file.problem(first, f"a function of {last - first + 1} lines; {LONGEST_FUNCTION} is a defect")


LONG_BODY = "  work();\n" * 60
PLANTED = [
    {"include/ashlar/base/a.hpp": "int a;\n" * 601},
    {"cli/a.cpp": "namespace n {\nvoid f(int x) noexcept {\n" + LONG_BODY + "}\n}\n"},
    {"cli/a.cpp": "struct s {\n  template <class T>\n  s(T t) : a{t} {\n" + LONG_BODY + "  }\n  int a;\n};\n"},
    {"scripts/a.py": "def f():\n" + "    pass\n" * 60},
]
CLEAN = [
    {"cli/a.cpp": "namespace n {\n" + "void f() { g('{'); }  // {\n" * 80 + "}\n"},
    {"cli/a.cpp": "class c {\n" + "  int f() { return 1; }\n" * 80 + "};\n"},
    {"cli/a.cpp": "template <class T>\nclass c {\n" + "  int f(int) { return 1; }\n" * 80 + "};\n"},
]
