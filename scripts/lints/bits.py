# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over bits stand in one place: a mask is walked, counted and searched by base/bitmap.hpp."""
import re

RULE = "headers count and search bits by base/bitmap.hpp, and find logarithms by base/bits.hpp"

HOME = ("include/ashlar/base/bitmap.hpp", "include/ashlar/base/bits.hpp")
BITS = re.compile(r"\bstd::(popcount|count[lr]_(zero|one))\b")


def check(tree):
    for file in tree.library:
        if file.path in HOME:
            continue
        for number, line in enumerate(file.lines, 1):
            if found := BITS.search(line):
                yield file.problem(number, f"{found.group(0)}: call first_bit, count_bits, for_each_bit ... or log2_of")


PLANTED = [
    {"include/ashlar/heap/a.hpp": "for (; m != 0; m &= m - 1) f(std::countr_zero(m));\n"},
    {"include/ashlar/detail/slab/a.hpp": "free += std::popcount(mask);\n"},
]
CLEAN = [
    {HOME[0]: "return std::popcount(word);\n", HOME[1]: "return std::countr_zero(n);\n",
     "include/ashlar/detail/slab/a.hpp": "free += count_bits(mask) + std::bit_width(n);\n"},
]
