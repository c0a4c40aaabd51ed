# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Unfolds the copies of whole objects in LLVM's text form into copies of words, for GenMC reads no other."""
import re

WORD = 8

COPY = re.compile(r"^ *call void @llvm\.memcpy\.p0\.p0\.i64\(ptr align (?:8|16|64) (\S+), ptr align (?:8|16|64) (\S+), "
                  r"i64 (\d+), i1 false\).*$", re.MULTILINE)
CLEAR = re.compile(r"^ *call void @llvm\.memset\.p0\.i64\(ptr align (?:8|16|64) (\S+), i8 0, i64 (\d+), i1 false\).*$",
                   re.MULTILINE)


class Unfolder:
    def __init__(self):
        self.names = 0

    def _word_at(self, base, offset):
        """Returns (an address, the lines that compute it)."""
        self.names += 1
        name = f"%unfolded.{self.names}"
        return name, [f"  {name} = getelementptr i8, ptr {base}, i64 {offset}"]

    def copy(self, match):
        to, source, size = match[1], match[2], int(match[3])
        if size % WORD != 0:
            return match[0]
        lines = []
        for offset in range(0, size, WORD):
            read, address_of_read = self._word_at(source, offset)
            written, address_of_written = self._word_at(to, offset)
            value = f"{read}.value"
            lines += [*address_of_read, *address_of_written, f"  {value} = load i64, ptr {read}, align {WORD}",
                      f"  store i64 {value}, ptr {written}, align {WORD}"]
        return "\n".join(lines)

    def clear(self, match):
        base, size = match[1], int(match[2])
        if size % WORD != 0:
            return match[0]
        lines = []
        for offset in range(0, size, WORD):
            address, computed = self._word_at(base, offset)
            lines += [*computed, f"  store i64 0, ptr {address}, align {WORD}"]
        return "\n".join(lines)


def unfold(text):
    one = Unfolder()
    return CLEAR.sub(one.clear, COPY.sub(one.copy, text))
