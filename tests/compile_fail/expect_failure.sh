#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: expect_failure.sh <program> <compiler> <flags…>
# Passes if the program compiles with -DASHLAR_CONTROL, and without it fails with the message that its first line asks
# for by `// error: <extended regular expression>`. The control shows that nothing else is wrong with the program.
set -euo pipefail
program=$1
shift

expected=$(sed -n '1s|^// error: ||p' "$program")
[[ -n $expected ]] || {
  echo "$program: the first line must be: // error: <regex>"
  exit 1
}
if ! messages=$("$@" -DASHLAR_CONTROL "$program" 2>&1); then
  printf '%s\n%s\n' "does not compile even with ASHLAR_CONTROL:" "$messages"
  exit 1
fi
if messages=$("$@" "$program" 2>&1); then
  echo "compiles, but must fail with: $expected"
  exit 1
fi
grep -qE -- "$expected" <<<"$messages" || {
  printf '%s\n%s\n' "fails, but not with: $expected" "$messages"
  exit 1
}
