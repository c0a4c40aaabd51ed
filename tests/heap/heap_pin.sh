#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: heap_pin.sh <source> <object> <objdump> <compiler> <flags…>
# Passes if the fast paths of a heap's calls, from entry to the first return, are as short as documented.
# shellcheck source=tests/resource/assembly.sh
source "$(dirname "${BASH_SOURCE[0]}")/../resource/assembly.sh"

expect_straight_path take_known 8 1   # the top, is it a sampled address, branch; its next comes up, and the link after that
expect_straight_path give_known 7 1   # is it a sampled address, branch; link, next and top
expect_straight_path give 19 2        # sampled address; the owner's byte; the last_freed, was it full; as above
expect_straight_path give_sized 19 3  # size; sampled address; class by table; the last_freed; as above

# For any thread: three more find the thread's own heap, two of them a compare with the one used last; a free looks
# whose the block is, which takes three where the class is looked up anyway, and five where it is known.
expect_straight_path any_take_known 11 2  # is it that heap, branch, what it has there; then as above
expect_straight_path any_give_known 12 2  # sampled address; what it has, whose the segment is, branch; as above
expect_straight_path any_try_take 15 3    # is it that heap; size, branch; class by table; the last_freed
expect_straight_path any_take 15 3
expect_straight_path any_give 22 3
expect_straight_path any_give_sized 24 4
