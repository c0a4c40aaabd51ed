# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of the reference: one for each public header, and a list of them all."""
import posixpath
import re

from comments import cell, escaped, fenced, markdown

OPENING = re.compile(r"\A// SPDX[^\n]*\n((?://[^\n]*\n)+)")
INCLUDED = re.compile(r"#include <ashlar/([^>]+)>")


def opening_of(text):
    """The sentence that says what a file is, with which it begins."""
    return " ".join(line.removeprefix("//").strip() for line in OPENING.match(text).group(1).split("\n")).strip()


def qualified(declaration, name):
    """The name as users write it after `ashlar::`."""
    scope = declaration.scope.removeprefix("ashlar").removeprefix("::")
    return f"{scope}::{name}" if scope else name


def anchor_of(declaration, outer=""):
    name = re.sub(r"[^\w~.]+", "-", qualified(declaration, declaration.identifier).replace("::", ".")).strip("-")
    return f"{outer}.{name}" if outer else name


class Anchors:
    """Anchors of one page; overloads get numbers."""

    def __init__(self):
        self.taken = {}

    def new(self, name):
        self.taken[name] = self.taken.get(name, 0) + 1
        return name if self.taken[name] == 1 else f"{name}-{self.taken[name]}"


def heading(level, title, anchor):
    return f"{'#' * level} `{title}` {{ #{anchor} }}"


def table(first, rows):
    lines = [f"| {first} | |", "|---|---|"]
    for each in rows:
        code = each.text.replace("|", "\\|")
        lines.append(f"| `{code}` | {cell(each.comment)} |")
    return "\n".join(lines)


def is_field(member):
    return member.kind == "variable" and "\n" not in member.text and "static" not in member.text.split()[:1]


def overloads(last, member):
    return last.identifier == member.identifier and last.scope == member.scope


def without_comments(last, member):
    return not last.comment and not last.members and not member.members


def runs_of(declarations, *joined):
    """Declarations in the order of the header; one without a comment joins the run before it if a rule allows that."""
    runs = []
    for each in declarations:
        if runs and not each.comment and any(rule(runs[-1][0], each) for rule in joined):
            runs[-1].append(each)
        else:
            runs.append([each])
    return runs


def code_of(declarations):
    return fenced("\n".join(f"{each.text};" for each in declarations), "cpp")


def body_of(declaration, anchors, outer, level):
    """The comment, the members and the proofs of a declaration."""
    parts = [markdown(declaration.comment)]
    fields = [member for member in declaration.members if is_field(member)]
    if declaration.kind == "enum":
        parts.append(table("value", declaration.members))
    if fields:
        parts.append(table("member", fields) if any(field.comment for field in fields) else code_of(fields))
    for run in runs_of([member for member in declaration.members
                        if not is_field(member) and member.kind != "enumerator"], overloads, without_comments):
        parts += described(run, anchors, outer, level)
    if declaration.bases:
        named = " and ".join(f"`{base.split('<')[0]}`" for base in declaration.bases)
        parts.append(f"Further members: those of its base {named}.")
    if declaration.proofs:
        parts += ["Proven by the compiler:", fenced("\n".join(f"{each};" for each in declaration.proofs), "cpp")]
    return parts


def described(run, anchors, outer, level):
    first = run[0]
    if not first.comment and not first.members:
        return [code_of(run)]
    anchor = anchors.new(anchor_of(first, outer))
    return [heading(level, first.name, anchor), code_of(run), *body_of(first, anchors, anchor, min(level + 1, 6))]


def page_of(header, declarations, text, manual, programs):
    """The page of a header. `manual` and `programs` are lists of (title, path on the site)."""
    place = posixpath.dirname(f"api/{header}")
    anchors = Anchors()
    parts = [f"# {header}", escaped(opening_of(text)), fenced(f"#include <ashlar/{header}>", "cpp")]
    for title, pages in (("Manual", manual), ("Programs", programs)):
        if pages:
            links = ", ".join(f"[{name}]({posixpath.relpath(path, place)})" for name, path in pages)
            parts.append(f"{title}: {links}.")
    for run in runs_of(declarations, overloads):
        anchor = anchors.new(anchor_of(run[0]))
        parts += [heading(2, qualified(run[0], run[0].name), anchor), code_of(run),
                  *body_of(run[0], anchors, anchor, 3)]
    return "\n\n".join(part for part in parts if part) + "\n"


def list_of(headers, texts, rooms):
    """The list of all headers. `rooms` is {room: what it contains}."""
    parts = ["# API", "One page a public header, made from its doc comments. Everything is in namespace `ashlar`; "
             "[fwd.hpp](fwd.md) declares all classes."]
    for room in sorted({header.split("/")[0] for header in headers if "/" in header}):
        parts += [f"## {room}/", escaped(rooms.get(room, "")), "| header | |\n|---|---|\n" + "\n".join(
            f"| [{header}]({header.removesuffix('.hpp')}.md) | {escaped(opening_of(texts[header]))} |"
            for header in headers if header.startswith(f"{room}/"))]
    return "\n\n".join(part for part in parts if part) + "\n"


def names_in(header, declarations):
    """{name as users write it without `ashlar::`: place on the site} of the types and functions of a header."""
    found = {}
    for each in declarations:
        found.setdefault(qualified(each, each.identifier), f"api/{header.removesuffix('.hpp')}.md#{anchor_of(each)}")
    return found


def included_in(text):
    return INCLUDED.findall(text)
