#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# debian.sh <folder>: builds the Debian packages there by debhelper, from the files of this checkout: headers, malloc,
# what links the malloc, and the command.
set -euo pipefail
target=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=$(sed -n 's/^project(ashlar VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
source=$target/ashlar-$version
rm -rf "$source"
mkdir -p "$source"
cp -r CMakeLists.txt LICENSE include cmake cli compiled malloc packaging "$source"
cp -r packaging/debian "$source/debian"
date=$(date --rfc-email --date="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}")
cat >"$source/debian/changelog" <<TEXT
ashlar ($version) unstable; urgency=medium

  * Release $version: see CHANGELOG.md.

 -- ashlar maintainers <maintainers@ashlar.example>  $date
TEXT
cd "$source"
unset CC CXX  # the distribution's own compiler
dpkg-buildpackage --build=binary --unsigned-changes --unsigned-buildinfo --no-check-builddeps >"$target/build.log" 2>&1 || {
  cat "$target/build.log"
  exit 1
}
ls "$target"/*.deb
