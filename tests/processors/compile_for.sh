#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: compile_for.sh <target> <file.cpp> <object> <flag…>
# Compiles a file for another system with the headers that Zig brings: $ZIG, `zig` or Python's package ziglang. The
# headers of FreeBSD and NetBSD are in Zig from 0.15 on.
# Exits with 77, which means skipped, where there is none.
set -euo pipefail
target=$1 file=$2 object=$3
if [[ -n ${ZIG:-} ]]; then
  read -ra zig <<<"$ZIG"
elif command -v zig >/dev/null; then
  zig=(zig)
elif python3 -c 'import ziglang' 2>/dev/null; then
  zig=(python3 -m ziglang)
else
  echo "skipped: there is no Zig"
  exit 77
fi
"${zig[@]}" c++ -target "$target" -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion \
  -Wold-style-cast -Wcast-align -Werror "${@:4}" -c "$file" -o "$object"
