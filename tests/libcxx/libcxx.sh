#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: libcxx.sh <folder with libc++> <program.cpp> <executable> <clang> <flags…>
# Compiles a program with libc++ and runs it. The library is the one that unpack.sh has put into the folder, or the
# system's. Exits with 77, which means skipped, where there is neither.
set -euo pipefail
folder=$1 program=$2 executable=$3
shift 3

llvm=$folder/usr/lib/llvm-19
if [[ -e $llvm/include/c++/v1/memory ]]; then
  library=(-nostdinc++ -isystem "$llvm/include/c++/v1" -nostdlib++ -L "$llvm/lib" "-Wl,-rpath,$llvm/lib"
    -l:libc++.so.1 -l:libc++abi.so.1 -l:libunwind.so.1)
elif echo '#include <memory>' | "$@" -stdlib=libc++ -x c++ -fsyntax-only - 2>/dev/null; then
  library=(-stdlib=libc++)
else
  echo "skipped: there is no libc++ for $1; tests/libcxx/unpack.sh $folder puts it there"
  exit 77
fi
"$@" "$program" -o "$executable" "${library[@]}"
said=$("$executable")
echo "$said"
[[ $said == "good with libc++"* ]]
