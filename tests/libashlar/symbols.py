# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of a program, by its table of symbols."""
import subprocess


class Symbols:
    def __init__(self, program):
        rows = [line.split() for line in subprocess.run(["nm", "--print-size", program], capture_output=True, text=True,
                                                        check=True).stdout.splitlines()]
        self._functions = [(int(row[0], 16), int(row[0], 16) + int(row[1], 16), row[3]) for row in rows
                           if len(row) == 4 and row[2] in "tT"]

    def function_at(self, offset):
        """Returns the name of the function that has the byte, or None."""
        return next((name for begin, end, name in self._functions if begin <= offset < end), None)
