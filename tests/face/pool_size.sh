#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: pool_size.sh <source> <object> <objdump> <compiler> <flags…>
# Passes if a pool under a std::map adds at most the bytes of `most` to a program, code and tables for exceptions
# included: a pool of one thread and one of any, at -Os and at -O2. The limits are 3 % above what the compilers of Debian
# 12 make; docs/compile-time.md has the figures.
set -euo pipefail
source=$1 object=$2
shift 3
if "$@" -dM -E -x c++ /dev/null | grep -q '__clang__'; then
  declare -A most=([Os.one_thread]=5700 [Os.thread_cached]=17430 [O2.one_thread]=6040 [O2.thread_cached]=18640)
else
  declare -A most=([Os.one_thread]=5370 [Os.thread_cached]=16210 [O2.one_thread]=7260 [O2.thread_cached]=19880)
fi

# bytes_of <flag>…
bytes_of() {
  rm -f "$object"
  "${compiler[@]}" "$@" -c "$source" -o "$object" || exit
  size "$object" | awk 'NR == 2 { print $1 }'
}

compiler=("$@")
fault=0
for level in Os O2; do
  plain=$(bytes_of "-$level")
  for lock in one_thread thread_cached; do
    pooled=$(bytes_of "-$level" "-DASHLAR_TEST_LOCK=ashlar::$lock")
    added=$((pooled - plain))
    echo "-$level, $lock: $added bytes more than a std::map without a pool ($plain); at most ${most[$level.$lock]} expected"
    ((added <= most[$level.$lock])) || fault=1
  done
done
exit "$fault"
