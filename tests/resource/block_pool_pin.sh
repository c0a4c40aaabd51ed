#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: block_pool_pin.sh <source> <object> <objdump> <compiler> <flags…>
# Passes if the fast path of the pool's two calls, from entry to the first return, is as short as documented.
# shellcheck source=tests/resource/assembly.sh
source "$(dirname "${BASH_SOURCE[0]}")/assembly.sh"

expect_fast_path block_pool_allocate 6 1    # load, test, branch; count, store; load
expect_fast_path block_pool_deallocate 6 1  # load, compare, branch; count, store; store
