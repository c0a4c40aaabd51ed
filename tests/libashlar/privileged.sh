#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# privileged.sh <program>: a set-uid copy of the program takes no option that limits it, and writes no line of ours.
set -euo pipefail
[[ $(id -u) -eq 0 ]] || { echo "skipped: not root, which alone can give a file to another user"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "$*: ended with $status; standard error: $errors"; exit 1; }
export ASHLAR=max=16m,bogus=1

status=0
errors=$("$1" 2>&1) || status=$?
[[ $status -eq 1 && $errors == *"unknown option 'bogus'"* ]] || fail "the options have no effect without privileges"

cp "$1" "$folder/program"
chown 65534 "$folder/program"
chmod 4755 "$folder/program"
status=0
errors=$("$folder/program" privileged 2>&1) || status=$?
[[ $status -ne 77 ]] || { echo "skipped: $folder is mounted without set-uid, or the process may gain no privileges"; exit 77; }
[[ $status -eq 0 && -z $errors ]] || fail "a privileged program"
