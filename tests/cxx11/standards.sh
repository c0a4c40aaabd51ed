#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: standards.sh <ashlar's folder> <static library> <shared library>: the program by each compiler and standard; a
# pool that the unit lacks is a line to add; the files of a release alone do.
set -euo pipefail
ashlar=$1 static=$2 shared=$3
program=$ashlar/tests/cxx11/program.cpp
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Werror)
headers="-I$ashlar/compiled/include"

for compiler in g++ clang++-19; do
  type -P "$compiler" >/dev/null || continue
  "$compiler" -std=c++14 "${warnings[@]}" "$headers" -c "$program" -o "$work/program.o"
  "$compiler" "$work/program.o" "$static" -pthread -o "$work/program"
  "$work/program"
  "$compiler" -std=c++17 "${warnings[@]}" "$headers" "$program" "$shared" "-Wl,-rpath,$(dirname "$shared")" -pthread \
    -o "$work/program"
  "$work/program"
  "$compiler" -std=c++11 "${warnings[@]}" "$headers" -fsyntax-only "$program"
done

# The dialect of MSVC, read with the library of this system, which then lacks macros of its compiler.
if type -P clang++-19 >/dev/null; then
  dialect=(-fms-extensions -fms-compatibility -fms-compatibility-version=19.38 -fdelayed-template-parsing "-Wno-#warnings")
  for macro in ATOMIC_{BOOL,POINTER,CHAR{,8_T,16_T,32_T},WCHAR_T,SHORT,INT,LONG,LLONG}_LOCK_FREE; do
    dialect+=("-D__GCC_$macro=2")
  done
  for standard in 11 14 17; do
    clang++-19 "-std=c++$standard" "${dialect[@]}" -D__GCC_ATOMIC_TEST_AND_SET_TRUEVAL=1 "$headers" -fsyntax-only "$program"
  done
fi

# The linker's first error names the line.
type -P g++ >/dev/null || { echo "skipped: there is no g++"; exit 77; }
lacking=(g++ -std=c++11 -O1 -DASHLAR_TEST_LACKING "$headers" "$program")
if LC_ALL=C "${lacking[@]}" "$static" -pthread -o "$work/program" 2>"$work/log"; then
  echo "a program was linked with a pool that the unit lacks"
  exit 1
fi
c++filt <"$work/log" | grep -m1 -o 'undefined reference to .*' | grep -F 'ASHLAR_CORE_POOL<1056ul, 16ul>::allocate()'
printf '#include <ashlar/cxx11/define_pools.hpp>\nASHLAR_CORE_POOL(1056, 16);\n' >"$work/line.cpp"
g++ -std=c++20 "-I$ashlar/include" "$headers" -c "$work/line.cpp" -o "$work/line.o"
"${lacking[@]}" "$work/line.o" "$static" -pthread -o "$work/program"
"$work/program"

# Files of a release, without a folder of headers.
python3 "$ashlar/scripts/release/single_header.py" --all "$work/release"
g++ -std=c++20 -fsyntax-only -Wall -Wextra "$work/release/ashlar_core.cpp"
sed -e '/^#include <ashlar\//d' "$program" >"$work/program.cpp"
g++ -std=c++17 "${warnings[@]}" -include "$work/release/ashlar_cxx11.hpp" "$work/program.cpp" "$static" -pthread \
  -o "$work/program"
"$work/program"
