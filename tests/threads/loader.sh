#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: loader.sh <the repository> <executable>
# Passes if a program over musl that is linked statically is skipped for that reason, and one that is not goes on: so do
# the tests that open a library. Status 77: there is no musl.
set -euo pipefail
ashlar=$1 executable=$2
command -v musl-gcc >/dev/null || {
  echo "skipped: there is no musl-gcc (Debian: musl-tools)"
  exit 77
}

# expect <status> <start of the output> <flag>…
expect() {
  local status=0 output
  musl-gcc -x c++ -std=c++20 -fno-exceptions -fno-rtti "-I$ashlar" "${@:3}" "$ashlar/tests/threads/loader.cpp" \
    -o "$executable"
  output=$("$executable") || status=$?
  [[ $status == "$1" && $output == "$2"* ]] || {
    echo "with '${*:3}': status $status, '$output'"
    exit 1
  }
}

expect 0 'opens libraries' -no-pie
expect 77 'skipped: this program is linked statically and opens no library: ' -static
