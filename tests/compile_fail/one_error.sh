#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: one_error.sh <folder of include/> <compiler> <flags…>
# Passes if ashlar.hpp, fwd.hpp and a header of each room, included first in a program of C++17, give one error each,
# which names the floor.
set -euo pipefail
include=$1
shift

failed=0
while read -r header; do
  messages=$("$@" -std=c++17 -I"$include" -fsyntax-only -x c++ - <<<"#include <$header>" 2>&1) && {
    echo "$header: compiles"
    failed=1
    continue
  }
  errors=$(grep -E ': (fatal )?error: ' <<<"$messages") || true
  if [[ $(wc -l <<<"$errors") != 1 || $errors != *"ashlar needs C++20 or later"* ]]; then
    printf '%s: not the one error\n%s\n' "$header" "$(head -n 5 <<<"$errors")"
    failed=1
  fi
done < <(cd "$include" && find ashlar -name '*.hpp' | sort | awk -F/ 'NF == 2 || !seen[$2]++')
exit "$failed"
