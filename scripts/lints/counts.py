# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sentences with a number are right for 0, 1 and many: the number chooses each noun and verb that depends on it."""
import re

from .english import CPP

RULE = "the number chooses the nouns and verbs behind it: counted(n, noun), counted(n, one, many)"

TALKING = re.compile(r"(?:cli/(?!tests/)|malloc/|include/ashlar/heap/).*\.(?:hpp|cpp|js)$")
JS = re.compile(r'"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|//[^\n]*', re.DOTALL)

# A value in a format of fmt, printf or JavaScript. What has decimals is a plural always: 1.0 steps.
VALUE = re.compile(r"\$?\{(?P<spec>(?:[^{}]|\{[^{}]*\})*)\}|%[-+.*\d]*(?P<type>[a-z]+)")
INTEGER = re.compile(r"(?:hh?|ll?|z|j|t)?[diu]")
DECIMALS = re.compile(r":.*\.(?:[1-9]|\{)")
IN_PARENTHESES = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
NUMBER = rf"\b(?:to_string|grouped|human_count|in_words|count|number){IN_PARENTHESES}"
NUMBER_ABOVE = re.compile(rf"{NUMBER}(?:\s*\+\s*|\s*\.text\(|;\s*(?:if {IN_PARENTHESES}\s*)?\w+\.text\()$")
SURE = re.compile(rf"(?:{NUMBER}|.*\b(?:size|count)\(\))$", re.DOTALL)
# Texts with a unit: no count.
MEASURE = re.compile(r"(?:\w+::)*(?:part_of|percent|share_text|human_time|human_bytes|in_bytes|in_time|bytes|binTime)\(")
UNITS = {"ns", "ms", "us", "times"}

# Of a name and its verb, as in "{} takes". Verbs that are plurals too, as "runs" and "records", count as plurals.
VERBS = {"adds", "decides", "differs", "does", "gains", "has", "is", "lacks", "makes", "needs", "saves", "takes", "was"}
LINKS = {"a", "an", "and", "are", "as", "at", "be", "before", "by", "for", "from", "have", "in", "into", "it", "its", "no",
         "not", "of", "on", "or", "than", "that", "the", "to", "were", "which", "with"}
NOUN = re.compile(r" (?:(?P<adjective>[a-z-]+) )?(?P<noun>[a-z-]{2,}s)\b(?!')")
VERB = re.compile(r"(?: of (?:(?:the|these|its|all) )?(?:[a-z-]+s|them))? (?P<verb>are|were|have|has|do|go)\b")
OF = re.compile(r" of (?:the )?$")


def literals(file):
    """Yields (start, text without quotes, end) of every literal; adjacent ones are one."""
    start, text, end = 0, None, 0
    for match in (JS if file.path.endswith(".js") else CPP).finditer(file.text):
        if match.group()[0] not in '"`':
            continue
        if text is not None and not file.text[end:match.start()].strip():
            text += match.group()[1:-1]
        else:
            if text is not None:
                yield start, text, end
            start, text = match.start(), match.group()[1:-1]
        end = match.end()
    if text is not None:
        yield start, text, end


def arguments(code):
    """Returns the arguments of a call, from the text behind its format."""
    depth, found, start = 0, [], 0
    for i, mark in enumerate(code):
        depth += (mark in "([{") - (mark in ")]}")
        if depth < 0 or (depth == 0 and mark == ","):
            found.append(code[start:i].strip())
            start = i + 1
        if depth < 0:
            break
    return found[1:]


def wrong_noun(rest, number):
    """Returns the plural behind a value; empty if there is none."""
    noun = NOUN.match(rest)
    if MEASURE.match(number) or not noun or noun["noun"] in UNITS or noun["noun"].endswith(("ss", "us")):
        return ""
    is_verb = noun["noun"] in VERBS and not SURE.match(number)
    return "" if is_verb or noun["noun"] in LINKS or noun["adjective"] in LINKS | VERBS else noun.group().strip()


def wrong_verb(rest, number):
    verb = VERB.match(rest)
    if MEASURE.match(number) or not verb or (verb["verb"] == "has" and verb.group() == " has" and not SURE.match(number)):
        return ""
    return verb.group().strip()


def values(file, text, end):
    """Yields (text before, text behind, argument) of the values of a format."""
    plain = text.replace("{{", "  ").replace("}}", "  ")
    given = iter(arguments(file.text[end:end + 2000]))
    for value in VALUE.finditer(plain):
        if value["type"]:
            number = "number()" if INTEGER.fullmatch(value["type"]) else "bytes()"
        elif file.path.endswith(".js"):
            number = value["spec"]
        else:
            number = "bytes()" if DECIMALS.search(value["spec"]) else next(given, "")
        yield plain[:value.start()], plain[value.end():], number


def faults(file, start, text, end):
    if NUMBER_ABOVE.search(file.text[max(0, start - 300):start]):
        yield wrong_noun(text, "number()") or wrong_verb(text, "number()")
    former = ""
    for before, behind, number in values(file, text, end):
        yield wrong_noun(behind, number) or wrong_verb(behind, former if OF.search(before) else number)
        former = number


def check(tree):
    for file in tree.files:
        if TALKING.match(file.path):
            for start, text, end in literals(file):
                for fault in filter(None, faults(file, start, text, end)):
                    line = file.text.count("\n", 0, start) + 1
                    yield file.problem(line, f'"{fault}" behind a number is wrong for 0, for 1 or for many')


PLANTED = [{path: text} for path, text in (
    ("cli/a.cpp", 'print("{} calls", n);\n'),
    ("cli/a.cpp", 'print("{}: {:.0f} free cells of {} B", name, n, b);\n'),
    ("cli/a.cpp", 'print("about "\n      "{} pages", in_words(n));\n'),
    ("cli/a.cpp", 'print("{} of {} sites found", some, all);\n'),
    ("cli/a.cpp", 'print("{} of the allocations has no call stacks", n);\n'),
    ("cli/a.cpp", 'print("{} were moved", grouped(n));\n'),
    ("cli/a.cpp", 'print("{} of {} have a remedy", in_words(some), in_words(all));\n'),
    ("cli/a.cpp", 'print("{} too few: {} are", counted(n, "pair"), counted(n, "pair"));\n'),
    ("cli/a.cpp", 'print("{} adds", values.size());\n'),
    ("cli/a.hpp", 'auto s = std::to_string(all.size()) + " bytes";\n'),
    ("cli/plan/a.cpp", 'fprintf(to, "%s: %zu buffers", name, n);\n'),
    ("cli/html/a.js", "const s = `${count(p.kept)} pages`;\n"),
    ("cli/html/a.js", 'const s = count(n) + " more lanes";\n'),
    ("malloc/a.cpp", 'out.grouped(n).text(" allocations, ");\n'),
    ("malloc/a.cpp", 'out.grouped(of(n));\nif (is(n)) out.text(" larger blocks");\n'),
)]
CLEAN = [{path: text} for path, text in (
    ("cli/a.cpp", 'print("{} and {} of {}", counted(n, "call"), counted(k, "pair is", "pairs are"), counted(m, "run"));\n'),
    ("cli/a.cpp", 'print("{} are freed, {} of {} are not, {} ns", part_of(a, b), percent(a, b), m, t);\n'),
    ("cli/a.cpp", 'print("{} takes {:.1f} steps and is of other sites, {:.2f} times {}", name, x, y, z);\n'),
    ("cli/a.cpp", '// {} calls\nprint("{{}} calls {} less, its {}\'s", a, b);\n'),
    ("cli/a.cpp", 'auto s = path + " names two";\nprintf("%s names %.1f steps\\n", s, x);\n'),
    ("cli/html/a.js", 'const s = counted(n, "page") + ` ${bytes(n)} are kept`; // `${n} pages`\n'),
    ("malloc/a.cpp", 'out.counted(n, "block").text(" blocks above");\n'),
    ("cli/tests/a.cpp", 'print("{} calls", n);\n'),
)]
