#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sysroot.sh <folder>: unpacks the libraries there that the command is linked with on aarch64: Debian's packages for
# that, by apt with lists of its own. Does nothing where the folder has them.
set -euo pipefail
folder=$1
packages=(libbz2-dev libdw-dev libelf-dev libfmt-dev libfmt9 liblzma-dev libunwind-dev libzstd-dev zlib1g-dev)
[[ ! -e $folder/usr/lib/aarch64-linux-gnu/libdw.a ]] || exit 0

rm -rf "$folder" "$folder.new"
mkdir -p "$folder.new"/apt/{lists/partial,cache/archives/partial,packages}
cd "$folder.new/apt/packages"
options=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root
  -o "Dir::State=$folder.new/apt" -o "Dir::Cache=$folder.new/apt/cache" -o Dir::State::status=/dev/null)
apt-get "${options[@]}" update
apt-get "${options[@]}" download "${packages[@]}"
for package in *.deb; do dpkg-deb -x "$package" "$folder.new"; done
rm -r "$folder.new/apt"
mv "$folder.new" "$folder"
