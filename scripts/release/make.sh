#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# make.sh [--draft <build>] <folder>: makes the files of a release of this commit there, checks them, and prints the
# commands that would publish them. A draft may have changes that are not committed, and a version without a date; its
# command is that of a build in this folder, if there is one, and Debian's packages are not optimised nor compressed.
set -euo pipefail
draft=false built=()
if [[ ${1:-} == --draft ]]; then
  draft=true built=("$2")
  export DEB_CXXFLAGS_APPEND="-g0 -O0 --param ggc-min-expand=200 --param ggc-min-heapsize=800000"
  export DPKG_DEB_COMPRESSOR_TYPE=none
  shift 2
fi
target=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=$(sed -n 's/^project(ashlar VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=ashlar-$version

refuse() {
  echo "make.sh: $*" >&2
  exit 1
}

python3 scripts/lint.py version >/dev/null || refuse "the version is not the same everywhere: scripts/lint.py version"
if [[ $draft == false ]]; then
  [[ -z "$(git status --porcelain)" ]] || refuse "there are changes that are not committed"
  grep -Eq "^## \[$version\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md || refuse "CHANGELOG.md has no date for $version"
  ! git rev-parse --quiet --verify "refs/tags/v$version" >/dev/null || refuse "there is a tag v$version"
fi

# The commit's date, not that of the build: the same commit makes the same files.
git archive --format=tar --prefix="$name/" HEAD | gzip -n >"$target/$name.tar.gz"
python3 scripts/release/single_header.py --all "$target"
cp compiled/ashlar.cppm "$target"
awk -v start="## [$version]" 'index($0, "## [") == 1 { inside = index($0, start) == 1; next } inside' CHANGELOG.md \
  >"$target/notes.md"
[[ -s $target/notes.md ]] || refuse "CHANGELOG.md tells nothing of $version"
if command -v dh >/dev/null; then
  bash scripts/release/debian.sh "$target/debian" >/dev/null
  mv "$target"/debian/*.deb "$target"
fi
rm -rf "$target/debian"
if [[ $draft == false || -e ${built[0]}/bin/ashlar ]]; then
  bash scripts/release/binaries.sh "$target" "${built[@]}" >"$target/binaries.log" || {
    cat "$target/binaries.log"
    refuse "the command is not built"
  }
  rm "$target/binaries.log"
fi
# Those for aarch64, where this machine has what builds and runs them; the workflow makes them on such a machine.
if [[ $draft == false && $(uname -m) != aarch64 && -e /usr/aarch64-linux-gnu/include/c++ ]] &&
  type clang++-19 qemu-aarch64 >/dev/null 2>&1; then
  bash scripts/release/binaries.sh --for aarch64 "$target" >"$target/binaries.log" || {
    cat "$target/binaries.log"
    refuse "the command for aarch64 is not built"
  }
  rm "$target/binaries.log"
fi
cd "$target"
rm -f SHA256SUMS
find . -maxdepth 1 -type f -regex '.*\.\(tar\.gz\|hpp\|cpp\|cppm\|deb\|whl\)' -printf "%f\n" | sort |
  xargs sha256sum -- >SHA256SUMS

# A user's first program, with what was packed.
sha256sum --check --quiet SHA256SUMS
rm -rf check
mkdir check
tar -xzf "$name.tar.gz" -C check
bash "check/$name/tests/consumer/consume.sh" first_program "$target/check/$name" "$target/check/work" "${CXX:-g++}" >/dev/null
rm -rf check

cat <<TEXT
The release $version is in $target. To publish it:
  git tag -s v$version -m "ashlar $version" && git push origin v$version
  gh release create v$version --title "ashlar $version" --notes-file $target/notes.md \\
    $(cut -c67- SHA256SUMS | sed "s|.*|$target/&|" | tr '\n' ' ')$target/SHA256SUMS
TEXT
