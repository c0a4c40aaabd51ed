#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: object_pool_pin.sh <source> <object> <objdump> <compiler> <flags…>
# Passes if the fast path of the pool's calls, from entry to the first return, is as short as documented.
# shellcheck source=tests/resource/assembly.sh
source "$(dirname "${BASH_SOURCE[0]}")/../resource/assembly.sh"

expect_fast_path acquire_inside 9 1      # load, compare, branch; next, mask, store; address of the slot
expect_fast_path release_inside 9 0      # number of the slot; load, mark, store; store
expect_fast_path acquire_in_a_block 9 1  # the same, and the address of the words
expect_fast_path release_in_a_block 9 0
