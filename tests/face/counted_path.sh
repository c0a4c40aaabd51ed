#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: counted_path.sh <source> <object> <objdump> <compiler> <flags…>
# Passes if to copy a pointer touches nothing but the two pointers and the count: no header is read.
# shellcheck source=tests/resource/assembly.sh
source "$(dirname "${BASH_SOURCE[0]}")/../resource/assembly.sh"

# expect <function> <most instructions>
expect() {
  local path count touched
  path=$(fast_path "$1")
  count=$(grep -c . <<<"$path" || true)
  # Loads and stores; one instruction may be both. lea computes only.
  touched=$(grep -F '(' <<<"$path" | grep -cvE '^(lea|nop)' || true)
  printf '%s: %s instructions, %s touch memory\n%s\n' "$1" "$count" "$touched" "$path"
  if ((count == 0 || count > $2 || touched > 4)) || grep -qE '^(call|lock)' <<<"$path"; then
    echo "the path is missing, too long, or reads more than it should"
    exit 1
  fi
}

expect copy_double 20
expect copy_int 12
