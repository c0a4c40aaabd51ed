#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: object_pool_hot_path.sh <source> <object> <objdump> <compiler> <flags…>
# Passes if the straight path of the pool's calls, from entry to the first return, is as short as documented.
# shellcheck source=tests/resource/assembly.sh
source "$(dirname "${BASH_SOURCE[0]}")/../resource/assembly.sh"

# expect <function> <most instructions> <branches>
expect() {
  local path count
  path=$(straight_path "$1" | grep -v '^endbr' || true)
  count=$(grep -c . <<<"$path" || true)
  printf '%s: %s instructions before the return, at most %s expected\n%s\n' "$1" "$count" "$2" "$path"
  if ((count == 0 || count > $2)); then
    echo "the straight path is missing or too long"
    exit 1
  fi
  if grep -qE '^(call|lock|jmp)' <<<"$path"; then
    echo "the straight path calls, jumps or locks"
    exit 1
  fi
  if (($(grep -cE '^j' <<<"$path" || true) != $3)); then
    echo "the straight path has not exactly $3 branches"
    exit 1
  fi
}

expect acquire_inside 9 1      # load, compare, branch; next, mask, store; address of the slot
expect release_inside 9 0      # number of the slot; load, mark, store; store
expect acquire_in_a_block 9 1  # the same, and the address of the words
expect release_in_a_block 9 0
