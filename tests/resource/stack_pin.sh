#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: stack_pin.sh <source> <object> <objdump> <compiler> <flags…>
# Passes if the fast paths of a stack's calls, from entry to the first return, are as short as documented.
# shellcheck source=tests/resource/assembly.sh
source "$(dirname "${BASH_SOURCE[0]}")/assembly.sh"

expect_fast_path push 7 1         # load, load, subtract, compare, branch; add, store
expect_fast_path push_any 13 1    # and the size: at least one, rounded up
expect_fast_path pop 4 1          # add, compare, branch; store
expect_fast_path pop_aligned 5 1  # and where the stack stood before
expect_fast_path go_back 5 1      # load, compare, branch; load, store
