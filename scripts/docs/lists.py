# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists as the forge reads them, for a reader that wants four columns: what belongs to an item is indented by two in
the pages of the repository."""
import re

ITEM = re.compile(r"[-*] |\d+\. ")
NESTED = re.compile(r" {2,3}(?:[-*] |\d+\. )")


def indented(text):
    """The text with two columns more in front of nested items, and of paragraphs, tables and code inside of an item."""
    made, is_in_list, is_in_block, is_fenced = [], False, False, False
    for line in text.split("\n"):
        is_fenced ^= line.startswith("```")
        if is_fenced or (line and not line.startswith(" ")):
            is_item = not is_fenced and bool(ITEM.match(line))
            if is_item and is_in_block:
                made.append("")  # ends the block before it
            is_in_list, is_in_block = is_item, False
        elif not line:
            is_in_block = is_in_list
        elif is_in_list and (is_in_block or NESTED.match(line)):
            line = f"  {line}"
        made.append(line)
    return "\n".join(made)
