#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# global_alloc.sh <folder of libashlar.so> <program>: compiles and runs the example in Rust; 77 without its compiler.
set -euo pipefail
if ! rustc --version; then
  echo "skipped: there is no rustc"
  exit 77
fi
rustc --edition 2021 -C opt-level=1 "$(dirname "$0")/global_alloc.rs" -L "$1" -l ashlar -o "$2"
LD_LIBRARY_PATH=$1 "$2"
