# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Doc comments as Markdown: each part of a contract becomes a paragraph with its label, indented text becomes code."""
import re

MARKER = re.compile(r"^\s*///<? ?", re.MULTILINE)
LABELS = ("Effects", "Returns", "Expects", "Throws", "Complexity", "Lifetime", "Thread safety", "Invariant",
          "Fast path")
LABEL = re.compile(rf"(?:(?<=[.:;)])\s+|\A)({'|'.join(LABELS)}): ")
SPECIAL = re.compile(r"`[^`]*`|[*_<\[\]]")
STATEMENT = re.compile(r"[;{]\s*(?://.*)?$|^\s*#include", re.MULTILINE)


def text_of(comment):
    return MARKER.sub("", comment).strip("\n")


def escaped(prose):
    """Prose in which no character means anything to Markdown, except in code spans."""
    def replaced(match):
        found = match.group()
        return found if found.startswith("`") else "&lt;" if found == "<" else f"\\{found}"

    return SPECIAL.sub(replaced, prose)


def labelled(prose):
    return LABEL.sub(lambda match: f"\n\n**{match.group(1)}:** ", prose).strip()


def fenced(code, language=None):
    language = language or ("cpp" if STATEMENT.search(code) else "text")
    return f"```{language}\n{code}\n```"


def blocks_of(text):
    """Yields (kind, text) of runs of lines: prose, list, code or table."""
    kind, lines = None, []
    for line in text.split("\n"):
        is_item = line.startswith("- ") or (kind == "list" and line.startswith("  "))
        if not line.strip():
            this = "code" if kind == "code" else None
        else:
            this = ("list" if is_item else "code" if line.startswith("  ") else "table" if line.startswith("|")
                    else "prose")
        if this != kind:
            if kind and lines:
                yield kind, "\n".join(lines).rstrip()
            kind, lines = this, []
        lines.append(line)
    if kind and lines:
        yield kind, "\n".join(lines).rstrip()


def dedented(code):
    lines = code.split("\n")
    depth = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[depth:] for line in lines)


def markdown(comment):
    made = []
    for kind, text in blocks_of(text_of(comment)):
        if kind == "code":
            made.append(fenced(dedented(text)))
        else:
            made.append(labelled(escaped(text)) if kind == "prose" else escaped(text))
    return "\n\n".join(made)


def cell(comment):
    """A comment as one cell of a table."""
    return " ".join(escaped(text_of(comment)).split()).replace("|", "\\|")
