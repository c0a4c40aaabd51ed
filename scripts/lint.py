#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the house rules. Each rule is a module in scripts/lints/ and proves itself on planted faults.

usage: scripts/lint.py [rule…]        check the tree; print `path:line: problem [rule]`; exit 1 if there is any
       scripts/lint.py --self-test    check the rules: each must catch its planted faults and pass its clean tree
       scripts/lint.py --list         print the rules
"""
import importlib
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from lints.tree import Tree  # noqa: E402  (the path is set just above)


def load_rules():
    """Returns {name: module} of every rule, in the order of their names."""
    names = sorted(p.stem for p in (HERE / "lints").glob("*.py") if p.stem not in ("__init__", "tree", "cpp"))
    return {name: importlib.import_module(f"lints.{name}") for name in names}


def check_tree(rules):
    """Checks the rules beside each other: the slow ones wait for a program each."""
    problems = 0
    tree = Tree.of_repository(HERE.parent)
    with ThreadPoolExecutor() as pool:
        checks = {name: pool.submit(lambda rule=rule: list(rule.check(tree))) for name, rule in rules.items()}
    for name, rule in rules.items():
        found = checks[name].result()
        for problem in found:
            print(f"{problem} [{name}]")
        problems += len(found)
        print(f"{'FAILED' if found else 'ok    '} {name}: {rule.RULE}", flush=True)
    return 1 if problems else 0


def planted(files):
    """Returns a context in which a tree with the given {path: text} exists."""
    folder = tempfile.TemporaryDirectory(prefix="ashlar-lint-")
    for path, text in files.items():
        target = Path(folder.name) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return folder


def self_test(rules):
    wrong = 0
    for name, rule in rules.items():
        for expected, trees in ((True, rule.PLANTED), (False, rule.CLEAN)):
            for files in trees:
                with planted(files) as folder:
                    found = list(rule.check(Tree.of_folder(Path(folder))))
                if bool(found) != expected:
                    wrong += 1
                    print(f"{name}: {'missed a fault in' if expected else 'blamed'} {sorted(files)}: {found}")
        print(f"proved {name}: {len(rule.PLANTED)} planted, {len(rule.CLEAN)} clean", flush=True)
    return 1 if wrong else 0


def main(arguments):
    rules = load_rules()
    if arguments == ["--list"]:
        for name, rule in rules.items():
            print(f"{name:10} {rule.RULE}")
        return 0
    if arguments == ["--self-test"]:
        return self_test(rules)
    unknown = [a for a in arguments if a not in rules]
    if unknown:
        print(f"lint: no rule {unknown[0]!r}; there are: {' '.join(rules)}", file=sys.stderr)
        return 2
    return check_tree({name: rules[name] for name in arguments} if arguments else rules)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
