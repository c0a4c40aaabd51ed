#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# binaries.sh [--for aarch64] <folder> [<build>]: packs the command and libashlar for this processor, or for that one,
# there, as an archive that is unpacked anywhere and as a Python wheel: of a build, or of one of their own, linked so that
# they need the C library alone. What is made for aarch64 is run by qemu.
set -euo pipefail
processor=$(uname -m) how=("-DCMAKE_CXX_COMPILER=${CXX:-g++}") run=()
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if [[ $1 == --for && $2 != "$processor" ]]; then
  [[ $2 == aarch64 ]] || {
    echo "binaries.sh: it packs for this processor or for aarch64, not for $2" >&2
    exit 2
  }
  processor=$2 run=(qemu-aarch64 -L /usr/aarch64-linux-gnu)
  how=(--toolchain "$here/scripts/release/aarch64.cmake" "-DASHLAR_SYSROOT=$here/build/sysroot.aarch64")
fi
[[ $1 != --for ]] || shift 2
target=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$here"
version=$(sed -n 's/^project(ashlar VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=ashlar-$version-linux-$processor
work=$target/binaries
rm -rf "$work"

built=${2:-$work/build}
[[ $# == 2 ]] || {
  ((${#run[@]} == 0)) || bash scripts/release/sysroot.sh "$here/build/sysroot.aarch64"
  cmake -G Ninja -S . -B "$built" "${how[@]}" -DCMAKE_BUILD_TYPE=Release -DASHLAR_CLI_PORTABLE=ON \
    -DASHLAR_TEST_BATCH=12
  cmake --build "$built"
}
cmake --install "$built" --prefix "$work/$name" --strip

# What is packed works. By qemu a command starts no other: it runs itself, over each malloc.
ashlar=$work/$name/bin/ashlar
if ((${#run[@]} == 0)); then
  "$ashlar" record -o "$work/trace" -- /bin/true
  "$ashlar" report "$work/trace" >/dev/null
else
  for library in "$work/$name"/lib/libashlar{,-checked,-hardened}.so; do
    "${run[@]}" -E "LD_PRELOAD=$library" -E ASHLAR=stats=exit "$ashlar" --version 2>&1 | tee "$work/output"
    grep -qx "ashlar $version" "$work/output"
    grep -q '^ashlar: process ' "$work/output"
  done
fi

# Dates, owners and order of the files are the same in each archive of a commit.
date=@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
tar --create --directory="$work" --sort=name --mtime="$date" --owner=0 --group=0 --numeric-owner "$name" |
  gzip -n >"$target/$name.tar.gz"
SOURCE_DATE_EPOCH=${date#@} python3 scripts/release/wheel.py "$version" "$work/$name" "$target" "$processor"
rm -rf "$work"
