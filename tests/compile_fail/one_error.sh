#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: one_error.sh <folder of include/> <compiler> <flags…>
# Passes if ashlar.hpp, fwd.hpp and a header of each room, included first in a program of C++17, give one error each,
# which names the floor; and so if the compiler calls itself the last one below the floor.
set -euo pipefail
include=$1
shift

failed=0
# expect_one_error <header> <words of the error> <compiler> <flags…>
expect_one_error() {
  local header=$1 words=$2 messages errors
  shift 2
  messages=$("$@" -I"$include" -fsyntax-only -x c++ - <<<"#include <$header>" 2>&1) && {
    echo "$header: compiles"
    failed=1
    return
  }
  errors=$(grep -E ': (fatal )?error: ' <<<"$messages") || true
  if [[ $(wc -l <<<"$errors") != 1 || $errors != *"$words"* ]]; then
    printf '%s: not the one error\n%s\n' "$header" "$(head -n 5 <<<"$errors")"
    failed=1
  fi
}

while read -r header; do
  expect_one_error "$header" "ashlar needs C++20 or later" "$@" -std=c++17
done < <(cd "$include" && find ashlar -name '*.hpp' | sort | awk -F/ 'NF == 2 || !seen[$2]++')

# A macro of the compiler itself is replaced: with -w, since compilers warn of that.
if "$@" -dM -E -x c++ /dev/null | grep -q '__clang__'; then
  expect_one_error ashlar/ashlar.hpp "ashlar needs clang 16 or later" "$@" -w -U__clang_major__ -D__clang_major__=15
else
  expect_one_error ashlar/ashlar.hpp "ashlar needs g++ 12 or later" "$@" -w -U__GNUC__ -D__GNUC__=11
fi
exit "$failed"
