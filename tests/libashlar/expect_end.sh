#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# expect_end.sh <status> <pattern> <command>…: runs the command; it must end with the status, as a shell has it, and each
# line of its standard error must match the pattern. The pattern -: there is no line.
set -u
status=$1 pattern=$2
shift 2
errors=$( { "$@" >/dev/null; } 2>&1)
got=$?
if [[ $got -ne $status ]]; then
  echo "ended with $got, expected $status; standard error: $errors"
  exit 1
fi
if [[ $pattern == - ]]; then
  [[ -z $errors ]] || { echo "wrote: $errors"; exit 1; }
elif [[ -z $errors ]] || grep -vqE "$pattern" <<<"$errors"; then
  echo "standard error does not match $pattern: $errors"
  exit 1
fi
