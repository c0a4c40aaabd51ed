#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: pool_size.sh <source> <object> <objdump> <compiler> <flags…>
# Passes if the code of a pooled map at -Os has at most the bytes of `most`, for a pool of one thread and for one of any.
# The limits are 3 % above what the compilers of Debian 12 make.
set -euo pipefail
source=$1 object=$2
shift 3
if "$@" -dM -E -x c++ /dev/null | grep -q '__clang__'; then
  declare -A most=([null_lock]=11500 [thread_cached]=21000)
else
  declare -A most=([null_lock]=9000 [thread_cached]=17900)
fi

for lock in "${!most[@]}"; do
  "$@" -Os "-DASHLAR_TEST_LOCK=ashlar::$lock" -c "$source" -o "$object"
  bytes=$(size "$object" | awk 'NR == 2 { print $1 }')
  echo "$lock: $bytes bytes of code, at most ${most[$lock]} expected"
  ((bytes <= most[$lock]))
done
