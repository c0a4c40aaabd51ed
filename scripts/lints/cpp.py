# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Just enough C++ to find function bodies: comments and literals are blanked, then braces are followed."""
import re

NOISE = re.compile(
    r'//[^\n]*'
    r'|/\*.*?\*/'
    r'|R"([^\s()\\]{0,16})\(.*?\)\1"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.DOTALL)

# A macro's body belongs to no function; a continued line belongs to its macro.
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE | re.DOTALL)

OPENS_SCOPE = re.compile(r"\s*(\[\[[^]]*\]\]\s*)?(namespace|class|struct|union|enum|extern|concept)\b")
TEMPLATE = re.compile(r"template\s*<[^{}]*?>\s*(?=\w|\[)")
BEFORE_BODY = re.compile(r"[)}>]$|\b(const|noexcept|override|final|mutable|try)$|->[^)]*$")


def blank(text, pattern):
    """Replaces each match by spaces, and keeps its line ends."""
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def kind_of_brace(head):
    """Says what `{` opens after this text: a scope, a function's body, or a value such as `member{1}`."""
    declaration = TEMPLATE.sub("", head).rstrip()
    if OPENS_SCOPE.match(declaration):
        return "scope"
    return "body" if "(" in declaration and BEFORE_BODY.search(declaration) else "value"


def functions(text):
    """Yields (first line, last line) of each outermost function body with its signature."""
    code = blank(blank(text, NOISE), DIRECTIVE)
    stack, start = [], 0
    for match in re.finditer(r"[{};]", code):
        mark, at = match.group(), match.start()
        kind = ""
        if mark == "{":
            stack.append((kind_of_brace(code[start:at]), start))
        elif mark == "}" and stack:
            kind, begin = stack.pop()
            if kind == "body" and all(outer != "body" for outer, _ in stack):
                first = begin + len(code[begin:]) - len(code[begin:].lstrip())
                yield code.count("\n", 0, first) + 1, code.count("\n", 0, at) + 1
        # A value is part of its declaration, as in a constructor's initialisers.
        start = begin if kind == "value" else at + 1
