#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: valgrind.sh <profiled_pool> <folder to work in>
# Memcheck finds nothing wrong with the example, and where a freed cell is read on purpose it names the block, who
# freed it, and who had allocated it. Exits with 77, which means skipped, where there is no Valgrind.
set -euo pipefail
program=$1 work=$2

command -v valgrind >/dev/null || {
  echo "skipped: there is no valgrind"
  exit 77
}
rm -rf "$work"
mkdir -p "$work"

memcheck() { valgrind --error-exitcode=9 "$program" "$@" >"$work/report" 2>&1; }

fail() {
  echo "not so: $1"
  cat "$work/report"
  exit 1
}

memcheck || fail "the example is correct"
if memcheck --use-after-free; then fail "reading a freed cell is reported"; fi
report=$(<"$work/report")
[[ $report == *"Invalid read of size"*"turnover_of"* ]] || fail "it says who reads"
[[ $report == *"inside a block of size 24 free'd"*"cancel_order"*"Block was alloc'd at"*"take_order"* ]] ||
  fail "it says in which block, who freed it, and who had allocated it"
echo "memcheck sees the freed cell, who freed it and who had allocated it"
