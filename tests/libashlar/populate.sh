#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# populate.sh <library>: a program with populate=1 has 2 MiB more resident than without.
set -euo pipefail
resident_kib() {
  ASHLAR=populate=$2 LD_PRELOAD=$1 awk '/^VmRSS:/ { print $2 }' /proc/self/status
}
IFS=. read -r major minor _ <<<"$(uname -r)"
if ((major < 5 || (major == 5 && ${minor%%[!0-9]*} < 14))); then
  echo "skipped: this kernel does not populate"
  exit 77
fi
without=$(resident_kib "$1" 0)
with=$(resident_kib "$1" 1)
echo "resident with populate=1: $with KiB, without: $without KiB"
((with > without + 2048))
