#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: allocators_in_table.sh <root>
# Every class of face/ that is a standard allocator must have its row in the table of propagation traits.
set -euo pipefail
root=$1
table=$root/tests/face/allocator.test.cpp
seen=0
while read -r name; do
  grep -q "traits_of<.*$name<" "$table" || {
    echo "$name is an allocator and has no row in $table"
    exit 1
  }
  seen=$((seen + 1))
done < <(sed -n '/^class [a-z_]*/{s/^class \([a-z_]*\).*/\1/;h;};/using value_type = T;/{x;p;x;}' "$root"/include/ashlar/face/*.hpp |
  grep 'allocator$' | sort -u)
((seen >= 4)) || {
  echo "found $seen allocators in face/: has their spelling changed?"
  exit 1
}
