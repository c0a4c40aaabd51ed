#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: unpack.sh <folder>
# Puts clang's own standard library beside the system's instead of into it: Debian's libc++-19-dev brings a libunwind
# that cannot be installed together with the one that the command is built on. Does nothing where the folder has it.
set -euo pipefail
folder=$1
packages=(libc++-19-dev libc++abi-19-dev libc++1-19 libc++abi1-19 libunwind-19)

skip() {
  echo "libc++ is not there, so nothing is tested with it: $*"
  exit 0
}

[[ ! -e $folder/usr/lib/llvm-19/include/c++/v1/memory ]] || exit 0
command -v dpkg-deb >/dev/null || skip "this is not Debian"
apt-cache show --no-all-versions "${packages[@]}" >/dev/null 2>&1 || skip "apt does not know ${packages[*]}"

rm -rf "$folder" "$folder.new"
mkdir -p "$folder.new/packages"
(cd "$folder.new/packages" && apt-get download -qq -o APT::Sandbox::User=root "${packages[@]}") ||
  skip "the package mirror is out of reach"
for package in "$folder.new"/packages/*.deb; do dpkg-deb -x "$package" "$folder.new"; done
rm -r "$folder.new/packages"
mv "$folder.new" "$folder"
