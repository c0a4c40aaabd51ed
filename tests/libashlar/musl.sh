#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: musl.sh <the repository> <folder to work in> <library> <level>
# Passes if programs over musl run under a libashlar that was built with glibc: the family of malloc, the interface for
# C, reports of misuse and of samples. Status 77: there is no musl.
set -euo pipefail
ashlar=$1 work=$2 library=$3 level=$4
command -v musl-gcc >/dev/null || {
  echo "skipped: there is no musl-gcc (Debian: musl-tools)"
  exit 77
}
mkdir -p "$work"

# build <program> <source> <flag>…
build() {
  musl-gcc -std=gnu11 -O1 -fno-builtin "-I$ashlar" "-I$ashlar/malloc" "-I$ashlar/tests/libashlar" "${@:3}" \
    "$ashlar/tests/libashlar/$2" -o "$work/$1"
}

# under <options of the library> <program> <argument>…
under() { env "LD_PRELOAD=$library" "ASHLAR=$1" "$work/$2" "${@:3}"; }

# expect <regular expression> <status> <options of the library> <program> <argument>…: in what the program writes.
expect() {
  local status=0
  under "${@:3}" >"$work/err" 2>&1 || status=$?
  if [[ $status != "$2" ]] || ! grep -qE "$1" "$work/err"; then
    echo "not so: '$1' and status $2, but $status, in what the program wrote with '${*:3}':"
    cat "$work/err"
    exit 1
  fi
}

build family musl.c
expect "^ashlar: process [0-9]+ \(family\)" 0 stats=exit family
[[ $(under sample=0 family) == "done" ]]
[[ $(under sample=1/50 family) == "done" ]]
# Forks while threads allocate, and reports.
build guarded guarded.c -D_GNU_SOURCE
under sample=0 guarded threads
under sample=1/50 guarded threads
expect "use_after_free: write in a block that is free" 139 sample=1 guarded write_after_free
[[ $level == fast ]] || expect "double_free" 134 sample=0 guarded double_free

# The library needs names of glibc, which are bound weakly.
linked=("-DASHLAR_TEST_LEVEL=\"$level\"" "$library" -Xlinker --allow-shlib-undefined -Xlinker -rpath -Xlinker "$(dirname "$library")")
build "c_api.$level" c_api.c "${linked[@]}"
ASHLAR=sample=0 "$work/c_api.$level"
