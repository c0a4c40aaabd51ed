#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: environment.sh <folder> [<requirements.txt>]
# Makes a Python environment: the packages of requirements.txt, verified by their hashes; without one those that build
# the site. Does nothing where the folder has them. Status 77: the packages cannot be had.
set -euo pipefail
folder=$1
wanted=${2:-$(dirname "${BASH_SOURCE[0]}")/requirements.txt}
installed=$folder/installed.txt
log=$folder.log

skip() {
  echo "skipped: $*"
  exit 77
}

! cmp -s "$wanted" "$installed" || exit 0
mkdir -p "$(dirname "$folder")"
python3 -m venv --clear "$folder" >"$log" 2>&1 || skip "Python has no venv: $(tail -n 1 "$log")"
"$folder/bin/python" -m pip install --quiet --no-compile --require-hashes --only-binary :all: -r "$wanted" \
  >"$log" 2>&1 || {
  ! grep -qi 'hashes' "$log" || {
    cat "$log"
    exit 1
  }
  skip "the packages of $wanted cannot be had: $(grep -v '^$' "$log" | tail -n 1)"
}
cp "$wanted" "$installed"
