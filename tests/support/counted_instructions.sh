#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: counted_instructions.sh <source> <program> <valgrind> <function=most,…> <compiler> <flags…>
# Passes if no call of a counted function takes more instructions, as callgrind counts them, than given.
set -euo pipefail
source=$1
program=$2
valgrind=$3
declare -A most
for pin in ${4//,/ }; do most[${pin%%=*}]=${pin#*=}; done
shift 4

"$@" "$source" -o "$program"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# count <function>: collects instructions inside it only, and writes one file at the end of each call.
count() {
  local calls=$folder/$1
  mkdir "$calls"
  "$valgrind" --tool=callgrind --collect-atstart=no --toggle-collect="$1" --dump-after="$1" \
    --callgrind-out-file="$calls/call" --log-file="$calls/log" "$program"
  grep -l "dump-after=$1\$" "$calls"/call.* | xargs grep -h '^totals:' | awk '{print $2}' | sort -n
}

failed=0
for function in "${!most[@]}"; do
  counts=$(count "$function")
  calls=$(grep -c . <<<"$counts" || true)
  worst=$(tail -n 1 <<<"$counts")
  median=$(sed -n "$(((calls + 1) / 2))p" <<<"$counts")
  echo "$function: $calls calls, $median instructions at the median, $worst at worst, at most ${most[$function]} expected"
  if ((calls < 100 || worst == 0 || worst > most[$function])); then
    echo "$function: too few calls were counted, or one took too long"
    failed=1
  fi
done
exit "$failed"
