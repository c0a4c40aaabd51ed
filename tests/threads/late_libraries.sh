#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: late_libraries.sh <directory of sources> <directory to work in> <include directory> <compiler…>
# Passes if 40 libraries of many pools and heaps, made by each compiler in turn, can be loaded late into one process.
set -euo pipefail
sources=$1
work=$2
include=$3
shift 3

flags=(-std=c++20 -O0 -DNDEBUG -pthread "-I$include")
rm -rf "$work"
mkdir -p "$work"
number=1
for compiler in "$@"; do
  "$compiler" "${flags[@]}" -fPIC -shared "-DFIRST_NUMBER=$number" "$sources/late_library.cpp" -o "$work/$number.so" &
  number=$((number + 2))
done
"$1" "${flags[@]}" "$sources/late_libraries.cpp" -o "$work/host" -ldl
wait

# The loader knows a library by its file, so a copy is another library.
paths=()
for ((copy = 0; copy < 40; ++copy)); do
  path=$work/$copy.copy.so
  cp "$work/$((copy % $# * 2 + 1)).so" "$path"
  paths+=("$path")
done
"$work/host" "${paths[@]}"
