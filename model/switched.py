# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plants many faults in one text, so that they compile together: a number chooses one of them when the program runs."""
import re

HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^[ ]*#(?:\\\n|[^\n])*', re.S | re.M)
CONTAINER = re.compile(r"\b(?:namespace|class|struct|union|enum)\b")


def function_bodies(text):
    """Returns the (begin, end) of each outermost function body, braces included."""
    code = HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    bodies, depth, begin, head = [], 0, 0, 0  # depth: braces open within a function or an initialiser
    for at, character in enumerate(code):
        if character == "{":
            before = code[head:at]
            while before != (less := re.sub(r"<[^<>]*>", "", before)):
                before = less
            if depth == 0 and CONTAINER.search(before):
                head = at + 1
                continue
            begin = begin if depth else at
            depth += 1
        elif character == "}" and depth:
            depth -= 1
            if depth or code[at + 1:].lstrip()[:1] in (",", "{"):
                continue  # an initialiser of a constructor: its body follows
            if "(" in code[head:begin]:
                bodies.append((begin, at + 1))
            head = at + 1
        elif character in ";}" and not depth:
            head = at + 1
    return bodies


def changed_part(text, find, replace):
    """Returns the (begin, end) of what differs, and what stands there instead."""
    begin, end, new = text.index(find), text.index(find) + len(find), replace
    while begin < end and new and text[begin] == new[0]:
        begin, new = begin + 1, new[1:]
    while begin < end and new and text[end - 1] == new[-1]:
        end, new = end - 1, new[:-1]
    return begin, end, new


def with_switches(text, faults):
    """Returns the text with all faults, of (number, find, replace) each, and the numbers of those left out.

    Each is in a copy of the body of its function, which runs if `explorer::planted` is its number. One outside of all
    bodies is left out.
    """
    bodies = function_bodies(text)
    copies, left_out = {}, set()
    for number, find, replace in faults:
        begin, end, new = changed_part(text, find, replace)
        body = next((each for each in bodies if each[0] < begin and end < each[1]), None)
        if body is None:
            left_out.add(number)
        else:
            copies.setdefault(body, []).append((number, text[body[0]:begin] + new + text[end:body[1]]))
    for (begin, end), mutated in sorted(copies.items(), reverse=True):
        chain = "".join(f"if (::explorer::planted == {number}) {body} else " for number, body in mutated)
        text = text[:begin] + "{ " + chain + text[begin:end] + " }" + text[end:]
    return text, left_out


def with_numbered_locks(text, lock, number):
    """Returns the text with the scopes of a lock numbered from `number` on, and each scope with its function."""
    what = lock.get("scope_of") or lock["entry"]
    scope = rf"const \S+ held\({re.escape(what)}\);" if "scope_of" in lock else rf"(?<=[ {{]){what}(?=[,;])"
    numbered, *rest = re.split(scope, text)
    shipped, scopes = numbered, []
    for number, (one, after) in enumerate(zip(re.findall(scope, text), rest), number):
        scopes.append((one, re.findall(r"(\w+)\([^;{}]*\{", shipped)[-1]))
        shipped += one + after
        if "scope_of" in lock:
            numbered += f"const ::checker::numbered_scope held({what}, {number});{after}"
        else:
            numbered += f"::checker::numbered_entry({number}, [&] {{ return {one}; }}){after}"
    return numbered, scopes


def kind_of(source):
    """Returns a word for the models that compile together: those of the same helpers, without macros of their own."""
    text = source.read_text(encoding="utf-8")
    return source.stem if "\n#define " in text else "_".join(re.findall(r'^#include "(\w+)\.hpp"', text, re.M)) or "none"


def batch_of(models, folder):
    """Returns one source with all models, of which ASHLAR_MODEL names the one to run."""
    includes, bodies, rows = [], "", []
    for number, name in enumerate(models):
        source = folder / f"{name}.cpp"
        includes += re.findall(r"^#include .*$", source.read_text(encoding="utf-8"), re.M)
        bodies += f'namespace file_{number} {{\n#include "{source}"\n}}\n'
        rows.append(f'{{"{name}", file_{number}::model}}')
    return ("\n".join(dict.fromkeys(includes)) + f'\n{bodies}#include "several.cpp"\n'
            "std::span<const several::named_model> several::models() {\n"
            f"  static constexpr named_model all[] = {{{', '.join(rows)}}};\n  return all;\n}}\n")
