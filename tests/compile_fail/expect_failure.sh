#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: expect_failure.sh <program> <compiler> <flags…>
# Passes if the program fails with the message that its first line asks for by `// error: <extended regular expression>`.
set -euo pipefail
program=$1
shift

expected=$(sed -n '1s|^// error: ||p' "$program")
[[ -n $expected ]] || {
  echo "$program: the first line must be: // error: <regex>"
  exit 1
}
if messages=$("$@" "$program" 2>&1); then
  echo "compiles, but must fail with: $expected"
  exit 1
fi
grep -qE -- "$expected" <<<"$messages" || {
  printf '%s\n%s\n' "fails, but not with: $expected" "$messages"
  exit 1
}
