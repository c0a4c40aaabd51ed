#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: arena_pin.sh <source> <object> <objdump> <compiler> <flags…>
# Passes if the fast path of the arena's calls, from entry to the first return, is as short as documented.
# shellcheck source=tests/resource/assembly.sh
source "$(dirname "${BASH_SOURCE[0]}")/assembly.sh"

expect_fast_path arena_allocate_known 7 1   # load; add, and; end; compare, branch; store
expect_fast_path arena_allocate_bytes 10 1  # load, load; none takes one byte; rest; compare, branch; end, store

if fast_path arena_deallocate | grep -qv '^endbr'; then
  echo "arena_deallocate does something"
  exit 1
fi
