#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: fast_paths.sh <source> <object> <objdump> <compiler> <flags…>
# Passes if each function of the source keeps the bounds in the comment above it, "most <instructions>, <branches>", from
# entry to the first return, without a call, jump or lock: an eighth more and one are borne. A landing mark does not count.
# shellcheck source=tests/resource/assembly.sh
source "$(dirname "${BASH_SOURCE[0]}")/assembly.sh"

# expect <function> <most instructions> <branches>
expect() {
  local path count
  path=$(fast_path "$1" | grep -v '^endbr' || true)
  count=$(grep -c . <<<"$path" || true)
  printf '%s: %s instructions before the return, at most %s expected\n%s\n' "$1" "$count" "$2" "$path"
  ((count <= ($2 == 0 ? 0 : $2 + $2 / 8 + 1))) || { echo "the fast path is too long"; return 1; }
  ! grep -qE '^(call|lock|jmp)' <<<"$path" || { echo "the fast path calls, jumps or locks"; return 1; }
  (($(grep -cE '^j' <<<"$path" || true) == $3)) || { echo "the fast path has not exactly this many branches: $3"; return 1; }
}

failed=0 seen=0 symbols=$("$objdump" -t "$object")
while read -r function most branches; do
  grep -q " $function\$" <<<"$symbols" || continue  # of another compiler
  expect "$function" "$most" "$branches" || failed=1
  seen=$((seen + 1))
done < <(awk '
  /^\/\/ most / { split($0, bound, /[ ,:]+/) }
  /^extern "C" / && bound[3] != "" { sub(/\(.*/, ""); sub(/.*[ *]/, ""); print $0, bound[3], bound[4]; split("", bound) }' "$source")
((seen >= 4)) || { echo "only $seen functions were found"; exit 1; }
exit "$failed"
