#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: static_arena_pin.sh <source> <object> <objdump> <compiler> <flags…>
# Passes if getting a buffer of a planned arena is one addition, with checks off.
# shellcheck source=tests/resource/assembly.sh
source "$(dirname "${BASH_SOURCE[0]}")/assembly.sh"

# expect <function> <most instructions>: only moves, addresses and additions, one of which adds.
expect() {
  local code count
  code=$(fast_path "$1")
  count=$(grep -c . <<<"$code" || true)
  printf '%s: %s instructions before the return, at most %s expected\n%s\n' "$1" "$count" "$2" "$code"
  if ((count == 0 || count > $2)) || grep -qvE '^(mov|lea|add)' <<<"$code"; then
    echo "not a plain addition"
    exit 1
  fi
}

expect get_known 1  # base plus a constant
expect get_any 3    # base plus an entry of the table
expect get_typed 3  # the same
