#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mappings.sh huge_pages <library> <value> <flag>   with huge_pages=<value> a program has mappings with the flag of smaps
# mappings.sh populate <library>                    with populate=1 its largest mapping is resident as a whole
# Its heap is larger than the half of a segment, from which on huge pages are asked for.
set -euo pipefail
case=$1 library=$2
skip() { echo "skipped: $1"; exit 77; }

# program <options> <statement of awk for each line of smaps> <flag>: prints `sum`.
program() {
  ASHLAR=$1 LD_PRELOAD=$library awk -v flag="${3-}" "BEGIN {
    for (i = 0; i < 200000; ++i) kept[i] = i
    while ((getline line <\"/proc/self/smaps\") > 0) { $2 }
    print sum + 0
  }"
}

if [[ $case == huge_pages ]]; then
  grep -qE 'always|madvise' /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null ||
    skip "this system has no transparent huge pages"
  count='sum += line ~ "^VmFlags:.* " flag "( |$)"'
  without=$(program huge_pages=system "$count" "$4")
  with=$(program "huge_pages=$3" "$count" "$4")
  echo "mappings with the flag $4: $with, without the option $without"
  [[ $with -gt $without ]]
else
  IFS=. read -r major minor _ <<<"$(uname -r)"
  ((major > 5 || (major == 5 && ${minor%%[!0-9]*} >= 14))) || skip "this kernel does not populate"
  # The KiB of the largest mapping that are not resident.
  absent='split(line, fields, " +")
    if (line ~ /^[0-9a-f]+-/) is_of_heap = line ~ / rw-p 00000000 00:00 0 *$/
    if (fields[1] == "Size:") bytes = fields[2]
    if (fields[1] == "Rss:" && is_of_heap && bytes > largest) { largest = bytes; sum = bytes - fields[2] }'
  without=$(program populate=0 "$absent")
  with=$(program populate=1 "$absent")
  echo "not resident with populate=1: $with KiB, without: $without KiB"
  ((with < 64 && without >= 64))
fi
