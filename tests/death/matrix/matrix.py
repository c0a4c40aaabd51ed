#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the programs of the fault matrix, one a level, and compares what they print with the committed tables.

usage: matrix.py --table FILE PROGRAM…           compare; exit 1 where an entry differs
       matrix.py --table FILE --write PROGRAM…   write the tables
       matrix.py --table FILE --self-test        plant changes into the tables; each must be found
"""
import argparse
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
LEVELS = ("fast", "checked", "hardened")
REGENERATE = "ninja -C build/dev regenerate_fault_matrix, then commit docs/fault-matrix.md"
GROUPS = {
    "Wrong pointers": ("twice at once", "twice later", "interior", "foreign", "stack", "other instance", "null"),
    "Wrong sizes, and leaks": ("half the size", "twice the size", "one byte less", "one byte more", "alignment", "leak"),
    "Writes to a dead block": ("first word", "middle", "last byte"),
    "Writes beside a block": ("+1 exact", "+8 exact", "+1 loose", "+8 loose", "-1", "-8"),
}
SENTENCE = "sentence"
MISUSES = [misuse for group in GROUPS.values() for misuse in group]


def rank(outcome):
    """Returns how bad an entry is: reported at the call, reported later, unseen, or dead without a report."""
    if outcome in ("signal", "hang", "missing"):
        return 3
    if outcome in ("unseen", "undefined"):
        return 2
    return 1 if outcome.startswith("later") else 0


def run(program):
    """Returns {(interface, misuse): outcome} of one level, and {("sentence", sentence): interfaces and misuses}."""
    text = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    entries, said = {}, {}
    for row, misuse, outcome, *sentences in (line.split("\t") for line in text.splitlines()):
        entries[row, misuse] = outcome
        for sentence in filter(None, sentences):
            sentence = re.sub("0x[0-9a-f]+", "0x…", sentence)
            if misuse == "alignment":  # the numbers depend on the address
                sentence = re.sub(r"\b(expected|got|alignment) \d+", r"\1 …", sentence)
            rows, misuses = said.setdefault(sentence, ({}, {}))
            rows[row] = misuses[misuse] = None
    return entries | {(SENTENCE, sentence): f"{', '.join(misuses)} of {'; '.join(rows)}"
                      for sentence, (rows, misuses) in said.items()}


def run_all(programs):
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(LEVELS, pool.map(run, programs), strict=True))


def shown(name):
    """The name on a page, where `<arena>` would be a tag of HTML, which no reader sees."""
    return name.replace("<", "&lt;")


def table(entries, misuses):
    rows = list(dict.fromkeys(row for row, _ in entries))
    yield "| interface | " + " | ".join(misuses) + " |"
    yield "|---" * (len(misuses) + 1) + "|"
    for row in rows:
        cells = [entries[row, misuse] for misuse in misuses]
        if any(cell not in ("-", "undefined") for cell in cells):
            yield f"| {shown(row)} | " + " | ".join(cells) + " |"


def render(levels):
    text = (HERE / "matrix.md").read_text()
    for level, entries in levels.items():
        text += f"\n## {level}\n"
        cells = {key: cell for key, cell in entries.items() if key[0] != SENTENCE}
        for group, misuses in GROUPS.items():
            text += f"\n### {group}\n\n" + "\n".join(table(cells, misuses)) + "\n"
        text += "\n### Sentences\n\n| sentence | reported for |\n|---|---|\n"
        for (_, sentence), cell in sorted(entries.items() - cells.items()):
            text += f"| `{sentence}` | {shown(cell)} |\n"
    return text


def parse(text):
    """Returns what `render` has written: {level: {(interface, misuse): outcome}}."""
    levels, level, misuses = {}, None, None
    for line in text.splitlines():
        if line.startswith("## "):
            level, misuses = levels.setdefault(line[3:], {}), None
        elif line.startswith("### "):
            misuses = None
        elif line.startswith("| interface |"):
            misuses = split(line)[1:]
        elif line.startswith("| `") and level is not None:
            sentence, cell = split(line)
            level[SENTENCE, sentence.strip("`")] = cell
        elif line.startswith("| ") and misuses:
            row, *cells = split(line)
            level.update({(row, misuse): cell for misuse, cell in zip(misuses, cells, strict=True)})
    return levels


def split(line):
    return [cell.strip().replace("&lt;", "<") for cell in line.strip().strip("|").split("|")]


def compare(committed, now):
    """Yields (how bad, sentence) for each entry that differs."""
    for level in LEVELS:
        was, is_now = committed.get(level, {}), now[level]
        for key in dict.fromkeys([*was, *is_now]):
            before, after = was.get(key), is_now.get(key, "missing")
            if before is None and after in ("-", "undefined"):
                continue  # a row without a promise is not in the tables
            if before != after:
                change = rank(after) - rank(before or "missing")
                yield change, f"{level}: {key[0]}: {key[1]}: {before or 'missing'} -> {after}"


def tell(changes):
    for change, sentence in sorted(changes, key=lambda each: -each[0]):
        print(("worse:  " if change > 0 else "better: " if change < 0 else "other:  ") + sentence)
    if any(change > 0 for change, _ in changes):
        print("The matrix has become worse. What is reported today stays reported.")
    elif changes:
        print(f"The tables are out of date: {REGENERATE}.")
    return 1 if changes else 0


def self_test(committed):
    """Each planted change must be found, and be called what it is."""
    wrong = 0
    plants = (("a report is lost", lambda o: rank(o) == 0 and o not in ("-", "allowed"), "unseen", 1),
              ("a report comes later", lambda o: o == "double_free", "later: double_free", 1),
              ("a process dies mute", lambda o: o == "unseen", "signal", 1),
              ("a row is gone", lambda o: o == "double_free", None, 1),
              ("a sentence is reworded", lambda o: o.startswith("twice at once"), None, 1),
              ("what was unseen is seen", lambda o: o == "unseen", "overflow", -1))
    for name, fits, outcome, sign in plants:
        key = next(key for key, was in committed["checked"].items() if fits(was))
        planted = {level: dict(entries) for level, entries in committed.items()}
        planted["checked"].pop(key) if outcome is None else planted["checked"].update({key: outcome})
        found = list(compare(committed, planted))
        if len(found) != 1 or found[0][0] * sign <= 0:
            print(f"missed: {name}: {found}")
            wrong = 1
    if list(compare(committed, committed)):
        print("blamed tables that are equal")
        wrong = 1
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    if options.self_test:
        return self_test(parse(options.table.read_text()))
    now = run_all(options.programs)
    if options.write:
        options.table.write_text(render(now))
        return 0
    return tell(list(compare(parse(options.table.read_text()), now)))


if __name__ == "__main__":
    sys.exit(main())
