#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# huge_pages.sh <library> <value> <flag>: a program with huge_pages=<value> has mappings with the flag of /proc/…/smaps.
# Its heap is larger than the half of a segment, from which on huge pages are asked for.
set -euo pipefail
if ! grep -qE 'always|madvise' /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null; then
  echo "skipped: this system has no transparent huge pages"
  exit 77
fi
mappings() {
  ASHLAR=huge_pages=$2 LD_PRELOAD=$1 awk -v flag="$3" 'BEGIN {
    for (i = 0; i < 100000; ++i) kept[i] = i
    while ((getline line <"/proc/self/smaps") > 0) count += line ~ "^VmFlags:.* " flag "( |$)"
    print count + 0
  }'
}
without=$(mappings "$1" system "$3")
with=$(mappings "$1" "$2" "$3")
echo "mappings with the flag $3: $with, without the option $without"
[[ $with -gt $without ]]
