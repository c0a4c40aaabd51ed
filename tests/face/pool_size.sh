#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: pool_size.sh <source> <object> <objdump> <compiler> <flags…>
# Passes if a pool under a std::map adds at most the bytes of `most` to a program, code and tables for exceptions
# included, at -Os and at -O2: the store of pages, which a program has once, and beyond it a pool of one thread and one
# of any. The limits are 3 % above what the compilers of Debian 12 make; docs/compile-time.md has the figures.
set -euo pipefail
source=$1 object=$2
shift 3
if "$@" -dM -E -x c++ /dev/null | grep -q '__clang__'; then
  declare -A most=([Os.store]=9530 [Os.one_thread]=6640 [Os.thread_cached]=15930
    [O2.store]=10210 [O2.one_thread]=6640 [O2.thread_cached]=17510)
else
  declare -A most=([Os.store]=8930 [Os.one_thread]=6060 [Os.thread_cached]=14330
    [O2.store]=9580 [O2.one_thread]=8530 [O2.thread_cached]=16080)
fi

# bytes_of <flag>…
bytes_of() {
  rm -f "$object"
  "${compiler[@]}" "$@" -c "$source" -o "$object" || exit
  size "$object" | awk 'NR == 2 { print $1 }'
}

# expect_at_most <level.part> <bytes> <words>…
expect_at_most() {
  echo "-$1: $2 bytes ${*:3}; at most ${most[$1]} expected"
  (($2 <= most[$1])) || fault=1
}

compiler=("$@")
fault=0
for level in Os O2; do
  plain=$(bytes_of "-$level")
  store=$(bytes_of "-$level" -DASHLAR_TEST_STORE)
  expect_at_most "$level.store" $((store - plain)) "more than a std::map without a pool ($plain)"
  for lock in one_thread thread_cached; do
    pooled=$(bytes_of "-$level" "-DASHLAR_TEST_LOCK=ashlar::$lock")
    expect_at_most "$level.$lock" $((pooled - store)) "more than with the store"
  done
done
exit "$fault"
