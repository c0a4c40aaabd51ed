#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# huge_pages.sh <library> <value> <flag>: a program with huge_pages=<value> has mappings with the flag of /proc/…/smaps.
set -euo pipefail
if ! grep -qE 'always|madvise' /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null; then
  echo "skipped: this system has no transparent huge pages"
  exit 77
fi
without=$(LD_PRELOAD=$1 grep -cE "^VmFlags:.* $3( |\$)" /proc/self/smaps || true)
with=$(ASHLAR=huge_pages=$2 LD_PRELOAD=$1 grep -cE "^VmFlags:.* $3( |\$)" /proc/self/smaps || true)
echo "mappings with the flag $3: $with, without the option $without"
[[ $with -gt $without ]]
