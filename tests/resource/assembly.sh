#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# To be sourced with <source> <object> <objdump> <compiler> <flags…>: compiles the source, and reads functions from it.
set -euo pipefail
source=$1
object=$2
objdump=$3
shift 3

"$@" -c "$source" -o "$object"
"$objdump" -d --no-show-raw-insn "$object" >"$object.s"

# fast_path <function>: one instruction a line, up to the first return.
fast_path() {
  awk -v label="<$1>:" '
    index($0, label) { inside = 1; next }
    inside && /^ *[0-9a-f]+:/ { sub(/^ *[0-9a-f]+:[ \t]*/, ""); if ($1 ~ /^ret/) inside = 0; else print }' "$object.s"
}
