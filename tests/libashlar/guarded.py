# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""guarded.py <status> <report> <acts> <command>...: the report of a misused guarded block, with its stacks.

The command must end with the status, as a shell has it, and one line of its standard error must match the report. `acts`
lists the stacks in their order, as act:function, with commas between them: the first frame of the program itself must lie
in the function. Dashes: there is no report, or no stack is looked at."""
import re
import subprocess
import sys

sys.dont_write_bytecode = True

from symbols import Symbols

FRAME = re.compile(r"    #\d+ 0x[0-9a-f]+(?: (?P<path>/.*)\+0x(?P<offset>[0-9a-f]+))?$")
ACT = re.compile(r"  (?P<act>accessed|allocated|freed again|freed|used) by thread \d+$")


def stacks_of(errors, program):
    """Returns the acts of the report, each with the names of the functions of the program below it."""
    symbols, stacks = Symbols(program), []
    for line in errors:
        if act := ACT.match(line):
            stacks.append((act["act"], []))
        elif (frame := FRAME.match(line)) and frame["path"] == program:
            call = int(frame["offset"], 16) - 1  # the address is that behind the call
            if name := symbols.function_at(call):
                stacks[-1][1].append(name)
        elif not frame and line != "mine" and not line.startswith("ashlar: "):
            sys.exit(f"not a line of a report: {line}")
    return stacks


def main():
    status, report, acts, *command = sys.argv[1:]
    program = next(word for word in command if word.startswith("/"))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    errors = done.stderr.splitlines()
    got = done.returncode if done.returncode >= 0 else 128 - done.returncode
    if got != int(status):
        sys.exit(f"ended with {got}, expected {status}\n{done.stderr}")
    if report == "-":
        sys.exit(done.stderr or 0)
    if len([line for line in errors if re.fullmatch(report, line)]) != 1:
        sys.exit(f"no line, or several, {report}\n{done.stderr}")
    if acts == "-":
        return
    wanted = [tuple(act.split(":")) for act in acts.split(",")]
    stacks = stacks_of(errors, program)
    if [act for act, _ in stacks] != [act for act, _ in wanted]:
        sys.exit(f"other stacks than {acts}\n{done.stderr}")
    for (act, names), (_, function) in zip(stacks, wanted):
        # The function of a fault may have no frame pointer of its own: then its caller is missing.
        if names[:1] != [function] or (act != "accessed" and "main" not in names):
            sys.exit(f"{act} in {names}, expected {function} first and main below\n{done.stderr}")


main()
