#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: cross.sh <processor> <program.cpp> <executable> <clang++> <flags…> -- <argument…>
# Builds a program for another processor (aarch64, riscv64, s390x) and runs it under qemu. That has the memory order of
# this machine, so what it shows is that the code is right for the processor, not that its order is.
# Exits with 77, which means skipped, where qemu or the libraries for that processor are missing.
set -euo pipefail
processor=$1 program=$2 executable=$3 compiler=$4
shift 4
flags=("--target=$processor-linux-gnu" -static -Wall -Wextra -Werror)
while [[ $1 != -- ]]; do
  flags+=("$1")
  shift
done
shift

for needed in "$compiler" "qemu-$processor" "$processor-linux-gnu-ld"; do
  command -v "$needed" >/dev/null || {
    echo "skipped: there is no $needed"
    exit 77
  }
done
if ! echo '#include <thread>' | "$compiler" "--target=$processor-linux-gnu" -x c++ -fsyntax-only - 2>/dev/null; then
  echo "skipped: there is no C++ library for $processor"
  exit 77
fi

"$compiler" "${flags[@]}" "$program" -o "$executable"
"qemu-$processor" "$executable" "$@"
