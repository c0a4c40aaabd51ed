#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: refused.sh <the repository> <folder to work in> <compiler>
# Passes if a build with the headers of musl leaves libashlar out and gives the reason. Status 77: there is no musl.
set -euo pipefail
ashlar=$1 work=$2 compiler=$3
headers=$(find /usr/include /usr/local/musl -maxdepth 1 -name '*-linux-musl' -print -quit 2>/dev/null || true)
[[ -n $headers ]] || {
  echo "skipped: there are no headers of musl (Debian: musl-dev)"
  exit 77
}
rm -rf "$work"
cmake -S "$ashlar" -B "$work" "-DCMAKE_CXX_COMPILER=$compiler" "-DCMAKE_CXX_FLAGS=-nostdinc -isystem $headers" \
  -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DASHLAR_BUILD_CLI=OFF 2>&1 | tee "$work.log"
grep -qx -- "-- ashlar::malloc is left out: it is built with glibc, and then serves programs over musl too" \
  "$work.log"
cmake --build "$work" --target help >"$work.targets"
! grep -q ashlar_malloc "$work.targets"
