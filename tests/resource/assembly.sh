#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# To be sourced with <source> <object> <objdump> <compiler> <flags…>: compiles the source, and reads functions from it.
set -euo pipefail
source=$1
object=$2
objdump=$3
shift 3

"$@" -c "$source" -o "$object"

# fast_path <function>: one instruction a line, up to the first return.
fast_path() {
  "$objdump" -d --no-show-raw-insn "$object" | awk -v label="<$1>:" '
    index($0, label) { inside = 1; next }
    inside && /^ *[0-9a-f]+:/ { sub(/^ *[0-9a-f]+:[ \t]*/, ""); if ($1 ~ /^ret/) inside = 0; else print }'
}

# expect_fast_path <function> <most instructions> <branches>: no call, jump or lock. A landing mark does not count.
expect_fast_path() {
  local path count
  path=$(fast_path "$1" | grep -v '^endbr' || true)
  count=$(grep -c . <<<"$path" || true)
  printf '%s: %s instructions before the return, at most %s expected\n%s\n' "$1" "$count" "$2" "$path"
  if ((count == 0 || count > $2)); then
    echo "the fast path is missing or too long"
    exit 1
  fi
  if grep -qE '^(call|lock|jmp)' <<<"$path"; then
    echo "the fast path calls, jumps or locks"
    exit 1
  fi
  if (($(grep -cE '^j' <<<"$path" || true) != $3)); then
    echo "the fast path has not exactly this many branches: $3"
    exit 1
  fi
}
