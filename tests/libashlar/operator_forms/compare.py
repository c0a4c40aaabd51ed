# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compare.py [--exact] [<name>=<value> …] -- <program> [<argument>] [-- <program> …]: each program runs by itself, then with the
variables; it must end as before. With --exact its replaced forms make as many blocks: each form that it has not replaced
calls the same ones."""
import os
import subprocess
import sys


def run(command, environment):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr.strip()


def commands_of(words):
    command = []
    for word in words:
        if word != "--":
            command.append(word)
        elif command:
            yield command
            command = []
    yield command


def difference(command, settings, exact):
    status, made, _ = run(command, os.environ)
    if status != 0:
        return f"ends with {status} by itself"
    now = run(command, {**os.environ, **settings})
    if now[0] != 0 or now[2]:
        return f"ends with {now[0]}: {now[2]}"
    if exact and now[1] != made:
        return f"{now[1].strip()} of its blocks, by itself {made.strip()}"
    return None


def main():
    words = sys.argv[1:]
    at = words.index("--")
    exact = "--exact" in words[:at]
    settings = dict(word.split("=", 1) for word in words[:at] if word != "--exact")
    failures = 0
    for command in commands_of(words[at:]):
        if problem := difference(command, settings, exact):
            failures += 1
            print(" ".join(os.path.basename(word) for word in command) + ": " + problem)
    sys.exit(failures != 0)


main()
