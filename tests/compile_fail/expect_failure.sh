#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: expect_failure.sh <file> <name> <compiler> <flags…>
# Passes if the program `// refused <name>: <extended regular expression>` of the file, which ends where the next one
# begins, fails with that message behind the lines in front of the first one.
set -euo pipefail
file=$1 name=$2
shift 2

expected=$(sed -n "s|^// refused $name: ||p" "$file")
[[ -n $expected ]] || {
  echo "$file: there is no line: // refused $name: <regex>"
  exit 1
}
program=$(awk -v name="$name:" '/^\/\/ refused /{ left_out = $3 != name } !left_out' "$file")
if messages=$("$@" -x c++ - <<<"$program" 2>&1); then
  echo "compiles, but must fail with: $expected"
  exit 1
fi
grep -qE -- "$expected" <<<"$messages" || {
  printf '%s\n%s\n' "fails, but not with: $expected" "$messages"
  exit 1
}
