#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: mixed_levels.sh <folder of main.cpp and other.cpp> <folder to work in> <compiler> <flags…>
# Passes if the two units link at each one checking level, and do not link at two different levels. What they share is
# all they see here: that every header may be seen twice is another test.
set -euo pipefail
sources=$1 work=$2 compiler=$3
flags=("-I$work" "${@:4}")
mkdir -p "$work"
echo '#include <ashlar/base/resource.hpp>' >"$work/everything.hpp"

fail() {
  echo "$*"
  exit 1
}

for level in 0 1 2; do
  for unit in main other; do
    "$compiler" "${flags[@]}" -UASHLAR_CHECKING "-DASHLAR_CHECKING=$level" -c "$sources/$unit.cpp" -o "$work/$unit.$level.o"
  done
done

links() { "$compiler" "${flags[@]}" "$work/main.$1.o" "$work/other.$2.o" -o "$work/program" >"$work/log" 2>&1; }

for caller in 0 1 2; do
  for callee in 0 1 2; do
    if links "$caller" "$callee"; then
      ((caller == callee)) || fail "levels $caller and $callee link"
    elif ((caller == callee)) || ! grep -q size_of "$work/log"; then
      cat "$work/log"
      fail "levels $caller and $callee: not linked, and not because of the shared type"
    fi
  done
done
