#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# binaries.sh <folder> [<build>]: packs the command and libashlar for this processor there, as an archive that is unpacked
# anywhere and as a Python wheel: of a build, or of one of their own, linked so that they need the C library alone.
set -euo pipefail
target=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=$(sed -n 's/^project(ashlar VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=ashlar-$version-linux-$(uname -m)
work=$target/binaries
rm -rf "$work"

built=${2:-$work/build}
[[ $# == 2 ]] || {
  cmake -G Ninja -S . -B "$built" "-DCMAKE_CXX_COMPILER=${CXX:-g++}" -DCMAKE_BUILD_TYPE=Release -DASHLAR_CLI_PORTABLE=ON \
    -DASHLAR_TEST_BATCH=12 -DASHLAR_BUILD_BENCH=OFF -DASHLAR_BUILD_EXAMPLES=OFF -DASHLAR_BUILD_MODEL=OFF \
    -DASHLAR_BUILD_TESTS=OFF
  cmake --build "$built"
}
cmake --install "$built" --prefix "$work/$name" --strip

# Dates, owners and order of the files are the same in each archive of a commit.
date=@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
tar --create --directory="$work" --sort=name --mtime="$date" --owner=0 --group=0 --numeric-owner "$name" |
  gzip -n >"$target/$name.tar.gz"
SOURCE_DATE_EPOCH=${date#@} python3 scripts/release/wheel.py "$version" "$work/$name" "$target"
rm -rf "$work"
