#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: heap_pin.sh <source> <object> <objdump> <compiler> <flags…>
# Passes if the fast paths of a heap's calls, from entry to the first return, are as short as documented.
# shellcheck source=tests/resource/assembly.sh
source "$(dirname "${BASH_SOURCE[0]}")/../resource/assembly.sh"

expect_fast_path take_known 8 1   # top, test for a sampled address, branch; its next becomes the top, its link the next
expect_fast_path give_known 7 1   # test for a sampled address, branch; link, next and top
expect_fast_path give 13 1        # sampled address; owner byte; as above
expect_fast_path give_sized 13 2  # size; sampled address; class by table; as above

# For any thread: three more instructions find the thread heap, two of them a comparison with the heap used last. A free
# also finds the owner of the block, in three instructions if the size class is looked up anyway, else in five.
expect_fast_path any_take_known 11 2  # test for the heap used last, branch, its thread heap; as above
expect_fast_path any_give_known 12 2  # sampled address; thread heap, owner of the segment, branch; as above
expect_fast_path any_try_take 17 3    # test for the heap used last; size, branch; class by table; as above
expect_fast_path any_take 17 3
expect_fast_path any_give 16 2
expect_fast_path any_give_sized 18 3

# The heap of the process: one thread-local word, and no test whether the thread has a heap. A miss takes no object.
expect_fast_path process_take 14 2
expect_fast_path process_give 16 2
