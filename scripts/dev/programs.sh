#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs real programs on libashlar.so at every level, and under the recorder, and compares what they write with a run on
# the C library's malloc.
source scripts/dev/common.sh

usage="programs: usage: ./dev programs [--level fast|checked|hardened|glibc]… [--record] [--only NAME]… [--quick] [--kinds]
  [--rows FILE] [--keep FOLDER]"
levels=() words=() targets=(malloc/all)
while (($#)); do
  case $1 in
    --level | --only | --rows | --keep) (($# > 1)) || fail "$usage" ;;&
    --level) levels+=("$2") && shift 2 ;;
    --only | --rows | --keep) words+=("$1" "$2") && shift 2 ;;
    --record) words+=(--record build/release/bin/ashlar) targets+=(cli/all) && shift ;;
    --quick | --kinds) words+=("$1") && shift ;;
    *) fail "$usage" ;;
  esac
done
((${#levels[@]})) || levels=(fast checked hardened)

need "${compile_packages[@]}" python3
say "building the libraries (Release)"
configure release
build release "${targets[@]}"
libraries=()
for level in "${levels[@]}"; do
  case $level in
    fast) libraries+=(--library "fast=build/release/lib/libashlar.so") ;;
    checked | hardened) libraries+=(--library "$level=build/release/lib/libashlar-$level.so") ;;
    glibc) libraries+=(--library "glibc=$(ldconfig -p | awk '/libm\.so\.6.*x86-64/ { print $NF; exit }')") ;;
    *) fail "$usage" ;;
  esac
done
exec python3 tests/malloc/programs/run.py "${libraries[@]}" "${words[@]}"
