#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# artefacts.sh <case> <file>… [<bound>]: what the files of libashlar contain and need.
set -euo pipefail

fail() { echo "$*" >&2; exit 1; }
needed_by() { LC_ALL=C readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | xargs; }

case $1 in
  exports) # <library> <version script>
    diff <(grep -oE '\b[A-Za-z_][A-Za-z0-9_]*;' "$3" | tr -d ';' | sort) \
      <(nm -D --defined-only "$2" | awk '{ print $3 }' | sort) || fail "other names than those of $3"
    ;;
  needed) # <file> <names>
    [[ $(needed_by "$2") == "$3" ]] || fail "$2 needs $(needed_by "$2"), not $3"
    ;;
  soname) # <library> <name>
    LC_ALL=C readelf -d "$2" | grep -q "(SONAME).*\[$3\]" || fail "$2 has another name than $3"
    for flag in NODELETE INITFIRST NOW; do
      LC_ALL=C readelf -d "$2" | grep -E 'FLAGS' | grep -q "$flag" || fail "$2 lacks the flag $flag"
    done
    ;;
  section) # <library> <section> <most bytes>
    bytes=$(size -A "$2" | awk -v name="$3" '$1 == name { print $2 }')
    echo "$3 of $2: $bytes bytes"
    [[ $bytes -le $4 ]] || fail "more than $4"
    ;;
  path) # <library> <function> <most instructions> <branches>
    start=$(nm "$2" | awk -v name="$3" '$3 == name { print $1 }')
    [[ -n $start ]] || fail "$2 lacks $3"
    path=$(objdump -d --no-show-raw-insn --start-address="0x$start" "$2" | awk '
      !over && /^ *[0-9a-f]+:/ { sub(/^ *[0-9a-f]+:[ \t]*/, ""); over = $1 ~ /^ret/; if (!over && $1 !~ /^endbr/) print }')
    printf '%s: %s instructions before the return, at most %s expected\n%s\n' "$3" "$(grep -c . <<<"$path")" "$4" "$path"
    [[ $(grep -c . <<<"$path") -le $4 ]] || fail "the fast path of $3 is too long"
    ! grep -qE '^(call|lock|jmp|push)' <<<"$path" || fail "the fast path of $3 calls, jumps, locks or saves registers"
    [[ $(grep -cE '^j' <<<"$path") == "$5" ]] || fail "the fast path of $3 has not exactly $5 branches"
    ;;
  jump) # <library> <function>
    first=$(objdump -d --no-show-raw-insn --disassemble="$3" "$2" | awk '/^ *[0-9a-f]+:/ { sub(/^ *[0-9a-f]+:[ \t]*/, ""); print; exit }')
    [[ $first == jmp* ]] || fail "$3 is not a jump to another function: $first"
    ;;
  own) # <program that is linked with the object>
    [[ $(nm "$2" | awk '$3 ~ /^(ashlar_)?malloc$/ { print $1 }' | sort -u | wc -l) == 1 ]] || fail "$2 has another malloc"
    nm "$2" | grep ' T ashlar_malloc$' >/dev/null || fail "$2 lacks libashlar"
    ;;
  one_object) # <archive> <object>
    [[ $(ar t "$2") == ashlar.o ]] || fail "$2 has other members than ashlar.o"
    strong=$(nm -u "$3" | awk '$1 == "U" { print $2 }' | grep -E '^_Z|^__cxa_(throw|alloc|guard)' || true)
    [[ -z $strong ]] || fail "$3 needs the C++ library: $strong"
    for name in malloc free calloc realloc memalign aligned_alloc posix_memalign valloc pvalloc malloc_usable_size; do
      nm --defined-only "$3" | grep " T $name\$" > /dev/null || fail "$3 lacks $name"
    done
    extern=$(nm --defined-only --extern-only "$3" | awk '{ print $3 }' | grep -E '^_ZN6ashlar' || true)
    [[ -z $extern ]] || fail "$3 shows its own names: $extern"
    ;;
  *) fail "no case $1" ;;
esac
