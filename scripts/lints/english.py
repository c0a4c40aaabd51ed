# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comments use the field's words, in plain sentences: phrases that the code base has given up stay out of it."""
import re

RULE = "comments of C++ avoid phrases that stand for a term of the field, or for nothing"

# Phrase -> what to write in its place.
BANNED = {
    "let be": "ignored, left as it is",
    "of its own accord": "unasked; name the trigger",
    "lest": "so that … not",
    "to and fro": "back and forth",
    "elsewhere": "name the place; of frees: remote",
    "whom": "rephrase with a noun",
    "who frees": "the freeing thread; the caller",
    "straight path": "fast path",
    "hot cells": "cached cells",
    "milestone": "sampled address",
    "shelf": "bin, partial slabs, segment cache",
    "pocket": "last-freed slot",
    "regret": "refaulted bytes",
    "strangers": "other threads",
}
PHRASE = re.compile(r"\b(" + "|".join(re.escape(phrase) for phrase in BANNED) + r")s?\b", re.IGNORECASE)
# The start of a comment: two slashes that are not part of an address.
COMMENT = re.compile(r"(?:^|\s)//(.*)")
CODE_SPAN = re.compile(r"`[^`]*`")


def check(tree):
    for file in tree.cpp:
        for number, line in enumerate(file.lines, 1):
            comment = COMMENT.search(line)
            found = comment and PHRASE.search(CODE_SPAN.sub("", comment.group(1)))
            if found:
                phrase = found.group(1).lower()
                yield file.problem(number, f'"{phrase}" in a comment; better: {BANNED[phrase]}')


PLANTED = [{"cli/a.cpp": "// Blocks that are freed elsewhere.\n"}, {"include/ashlar/base/a.hpp": "int x;  // of the hot cells\n"}]
CLEAN = [{"cli/a.cpp": "// A remote free; `shelf` is a name.\nconst char* text = \"elsewhere\";\n"}]
