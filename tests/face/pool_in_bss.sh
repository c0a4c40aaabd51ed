#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: pool_in_bss.sh <source> <object> <objdump> <compiler> <flags…>
# Passes if the pools of the process take no byte of the program's file: their first value is all zeros.
# shellcheck source=tests/resource/assembly.sh
source "$(dirname "${BASH_SOURCE[0]}")/../resource/assembly.sh"

pools=$("$objdump" -t "$object" | grep immortal_instance)
echo "$pools"
! grep -qvF ' .bss' <<<"$pools" || {
  echo "a pool of the process is in .data"
  exit 1
}
