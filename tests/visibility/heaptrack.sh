#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: heaptrack.sh <profiled_pool> <folder to work in>
# The profile that heaptrack writes of the example has every cell of its pool, by the name of the function that took it.
# Exits with 77, which means skipped, where there is no heaptrack.
set -euo pipefail
program=$1 work=$2

for tool in heaptrack heaptrack_print; do
  command -v "$tool" >/dev/null || {
    echo "skipped: there is no $tool"
    exit 77
  }
done

rm -rf "$work"
mkdir -p "$work"
heaptrack -o "$work/profile" "$program" >"$work/log" 2>&1 || {
  cat "$work/log"
  exit 1
}
heaptrack_print -f "$work"/profile.* --print-peaks 1 --print-allocators 1 --print-leaks 1 --print-temporary 0 \
  >"$work/report" 2>&1

# Effects: fails unless an entry of the report has all of these words. Entries are paragraphs.
expect() {
  local what=$1 entry words
  shift
  entry=$(awk -v RS= '/take_order/' "$work/report")
  for words in "$@"; do
    [[ $entry == *"$words"* ]] || {
      echo "not so: $what"
      cat "$work/report"
      exit 1
    }
  done
}

expect "each cell is an allocation by take_order" "10000 calls to allocation functions with 240.00K peak consumption from"
expect "the cells are what the peak is made of" "240.00K peak memory consumed over 10000 calls from"
if [[ $(awk -v RS= '/take_order/ && /leaked/' "$work/report") != "" ]]; then
  echo "not so: every cell was freed"
  cat "$work/report"
  exit 1
fi
echo "heaptrack sees 10000 cells, 240000 bytes, none of them leaked"
