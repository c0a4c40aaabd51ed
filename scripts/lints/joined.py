# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources that are compiled as one share an unnamed namespace: a call in one may find the function of another."""
import re
from collections import defaultdict

from .cpp import DIRECTIVE, NOISE, blank, kind_of_brace

RULE = "no function in an unnamed namespace takes a call meant for one of another source that is compiled with it"

JOINED = re.compile(r"(cli/preload|cli|malloc/route|malloc|tests/death/matrix)/(?:(?!tests/)[^/]+/)?[^/]+\.cpp$")
UNNAMED = re.compile(r"\s*namespace\s*$")
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)\)?|\[\[.*?\]\]")
SIGNATURE = re.compile(r"(\w+)\s*\(((?:[^()]|\([^()]*\))*)\)")
VECTOR = re.compile(r"std::vector<(.*)>$")
# A type of the project converts from no other, nor does a vector of it. Everything converts to JSON.
OWN = re.compile(r"(?!(?:auto|bool|char|double|float|int|json|long|short|size_t|unsigned|void)\b)(?:(?!std::)\w+::)*\w+\**$")


def types_of(parameters):
    """Returns the types of the parameters, and how many a call must give."""
    types, needed, depth, start = [], 0, 0, 0
    for at, mark in enumerate(f"{parameters},"):
        depth += (mark in "<([{") - (mark in ">)]}")
        if mark != "," or depth:
            continue
        each, default, _ = parameters[start:at].partition("=")
        start = at + 1
        words = re.sub(r"\bconst\b|&", " ", each).replace(" *", "*").replace("*", "* ").split()
        if words:
            types.append(VECTOR.sub(r"\1", " ".join(words[:-1] or words)))
            needed += not default
    return types, needed


def local_functions(text):
    """Yields (name, types of its parameters, how many are needed, line) of each function in an unnamed namespace."""
    code = blank(blank(text, NOISE), DIRECTIVE)
    stack, start = [], 0
    for match in re.finditer(r"[{};]", code):
        mark, at = match.group(), match.start()
        if mark == "{":
            head = ATTRIBUTE.sub(lambda found: " " * len(found.group()), code[start:at])
            kind = "unnamed" if UNNAMED.match(head) else kind_of_brace(head)
            if kind == "body" and stack and stack[-1][0] == "unnamed" and (found := SIGNATURE.search(head)):
                yield found.group(1), *types_of(found.group(2)), code.count("\n", 0, start + found.start()) + 1
            stack.append((kind, start))
        elif mark == "}" and stack and stack[-1][0] == "value":  # a part of its declaration
            start = stack.pop()[1]
            continue
        elif mark == "}" and stack:
            stack.pop()
        start = at + 1


def share_a_call(one, other):
    """Whether a call may fit both: as many arguments, none of them of a type that only one of the two takes."""
    (types, needed), (others, needed_too) = one, other
    most = min(len(types), len(others))
    return most >= max(needed, needed_too) and not any(
        a != b and (OWN.match(a) or OWN.match(b)) and "json" not in (a, b) for a, b in zip(types, others))


def check(tree):
    known = defaultdict(list)
    for file in tree.cpp:
        if unit := JOINED.match(file.path):
            for name, types, needed, line in local_functions(file.text):
                same = known[unit.group(1), name]
                for path in {path for path, *rest in same if path != file.path and share_a_call(rest, (types, needed))}:
                    yield file.problem(line, f"a call of {name} may fit the one in {path} too")
                same.append((file.path, types, needed))


def pair(one, other):
    return {f"cli/{name}/a.cpp": f"namespace {{\n{text}\n}}\n" for name, text in (("a", one), ("b", other))}


PLANTED = [
    pair("int f(int n) { return n; }", "void f(long n) {}"),
    pair("void f(const std::string& s) {}", "[[nodiscard]] auto f(std::string_view s, int n = 3) -> int {}"),
    pair("void f(const json& j) {}", "void f(const plan& p) {}"),
    pair("__attribute__((used)) void f() {}", "void f() {}"),
]
CLEAN = [
    pair("void f(const std::string& s) {}\nvoid f(int n) {}", "void f(const plan& p) {}\nvoid f(int a, int b) {}"),
    pair("struct s {\n  void f() {}\n};\nvoid g(int a[3]) {}", "void f() {}\n}\nvoid g(int n) {}\nnamespace {"),
    {"cli/a/a.cpp": "namespace {\nvoid f() {}\n}\n", "malloc/a.cpp": "namespace {\nvoid f() {}\n}\n"},
]
