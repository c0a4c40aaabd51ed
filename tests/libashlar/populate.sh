#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# populate.sh <library>: with populate=1 the largest mapping of a program's heap is resident as a whole.
set -euo pipefail
# The KiB of that mapping that are not resident.
absent() {
  ASHLAR=populate=$2 LD_PRELOAD=$1 awk 'BEGIN {
    for (i = 0; i < 200000; ++i) kept[i] = i
    while ((getline line <"/proc/self/smaps") > 0) {
      split(line, fields, " +")
      if (line ~ /^[0-9a-f]+-/) is_of_heap = line ~ / rw-p 00000000 00:00 0 *$/
      if (fields[1] == "Size:") bytes = fields[2]
      if (fields[1] == "Rss:" && is_of_heap && bytes > largest) { largest = bytes; absent = bytes - fields[2] }
    }
    print absent
  }'
}
IFS=. read -r major minor _ <<<"$(uname -r)"
if ((major < 5 || (major == 5 && ${minor%%[!0-9]*} < 14))); then
  echo "skipped: this kernel does not populate"
  exit 77
fi
without=$(absent "$1" 0)
with=$(absent "$1" 1)
echo "not resident with populate=1: $with KiB, without: $without KiB"
((with < 64 && without >= 64))
