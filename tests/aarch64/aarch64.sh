#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: aarch64.sh <program.cpp> <executable> <clang++> <flags…>
# Builds a program for aarch64 and lets three threads of it free 100'000 blocks of each other under qemu. That has the
# memory order of this machine, so what it shows is that the code is right for the processor, not that its order is.
# Exits with 77, which means skipped, where qemu or the libraries for aarch64 are missing.
set -euo pipefail
program=$1 executable=$2 compiler=$3
flags=("${@:4}" --target=aarch64-linux-gnu -static -Wall -Wextra -Werror)

for needed in "$compiler" qemu-aarch64 aarch64-linux-gnu-ld; do
  command -v "$needed" >/dev/null || {
    echo "skipped: there is no $needed"
    exit 77
  }
done
if ! echo '#include <thread>' | "$compiler" --target=aarch64-linux-gnu -x c++ -fsyntax-only - 2>/dev/null; then
  echo "skipped: there is no C++ library for aarch64"
  exit 77
fi

"$compiler" "${flags[@]}" "$program" -o "$executable"
qemu-aarch64 "$executable" --frees 100000 --threads 3
