#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: hot_path.sh <source> <object> <objdump> <compiler> <flags…>
# Passes if the straight path of the pool's two calls, from entry to the first return, is as short as documented.
# shellcheck source=tests/resource/assembly.sh
source "$(dirname "${BASH_SOURCE[0]}")/assembly.sh"

# expect <function> <most instructions>
expect() {
  local path count
  path=$(straight_path "$1")
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
  if (($(grep -cE '^j' <<<"$path" || true) != 1)); then
    echo "the straight path has not exactly one branch"
    exit 1
  fi
}

expect hot_path_allocate 6    # load, test, branch; count, store; load
expect hot_path_deallocate 6  # load, compare, branch; count, store; store
