#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: expect_failure.sh <file> <name> <compiler> <flags…>
# Passes if the program `// refused <name>: <extended regular expression>` of the file, which ends where the next one
# begins, fails with that message behind the lines in front of the first one. With `advised` in place of `refused` the
# message is the first error, and there are ten lines at most, besides quoted source and the path to the header.
set -euo pipefail
file=$1 name=$2
shift 2

line=$(grep -E "^// (refused|advised) $name: ." "$file") || {
  echo "$file: there is no line: // refused $name: <regex>"
  exit 1
}
expected=${line#*: }
program=$(awk -v name="$name:" '/^\/\/ (refused|advised) /{ left_out = $3 != name } !left_out' "$file")
if messages=$("$@" -x c++ - <<<"$program" 2>&1); then
  echo "compiles, but must fail with: $expected"
  exit 1
fi
found=$messages
[[ $line == '// refused'* ]] || found=$(grep -m 1 ': error: ' <<<"$messages")
grep -qE -- "$expected" <<<"$found" || {
  printf '%s\n%s\n' "fails, but not with: $expected" "$messages"
  exit 1
}
if [[ $line == '// advised'* ]]; then
  lines=$(grep -cE ': (error|note): |required from|[Ii]n instantiation|expansion of|: In ' <<<"$messages")
  ((lines <= 10)) || {
    printf '%s\n%s\n' "$lines lines, more than 10" "$messages"
    exit 1
  }
fi
