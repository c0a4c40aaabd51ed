#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The whole loop once: record a C++ program, advise for each of its call sites, patch a copy by the advice, and verify
# the gain with an interval.
source scripts/dev/common.sh

here=$PWD
folder=$here/build/demo/loop
report=$here/ashlar-report.html
ashlar=$here/build/demo/bin/ashlar
example=$here/examples/analyse

compile() { g++ -std=c++20 -O2 -g -DNDEBUG "-I$here/include" "$1" -o "$2"; }

record() {
  say "2 of 4: recording every allocation of ${program[*]}"
  "$ashlar" record --stacks 16 -o "$folder/demo.trace" -- "${program[@]}"
}

# The program of the demo and two logs for it, in $folder.
make_example() {
  compile "$example.cpp" analyse
  program=(./analyse 1.log 2.log)
  local seed
  for seed in 1 2; do ./analyse --sample $seed 150000 >$seed.log; done
}

# The first paragraph, and the first call sites.
digest() { sed -n '2,/^$/p; /^By call site/,/^Change nothing/{/^Change nothing/!p}' "$1"; }

patch_and_verify() {
  say "4 of 4: a copy patched by the advice, against the program"
  grep '^[-+]' "$example.diff" | tail -n +3
  patch -s -F 0 -o analyse_in_pools.cpp "$example.cpp" "$example.diff"
  compile analyse_in_pools.cpp analyse_in_pools
  "$ashlar" verify --budget 30 --a "${program[*]}" --b "./analyse_in_pools ${program[*]:1}" >verdict.txt || (($? >= 3)) # a loss, too few runs, or a machine that is unfit
  echo
  sed -n "4,/^$/{s/^Gain:/You changed $(grep -c '^+[^+]' "$example.diff") lines:/;p}" verdict.txt
}

[[ ${1:-} != -- ]] || shift
program=("$@")
packages=("${compile_packages[@]}" "${command_packages[@]}" "${rival_packages[@]}")
need "${packages[@]}"

say "1 of 4: building the ashlar command; the first time this takes a minute or two, later a second"
configure demo
build demo cli/all

rm -rf "$folder" && mkdir -p "$folder"
if ((${#program[@]})); then
  record
  say "3 of 4: the remedy for each call site, or to change nothing"
  "$ashlar" advise "$folder/demo.trace" --measure none --top 3 --html "$report"
  say "4 of 4 runs your program some hundred times, so it is left to you:" \
    "$ashlar advise $folder/demo.trace --measure run; $ashlar verify -- ${program[*]@Q}"
else
  cd "$folder"
  make_example
  record
  say "3 of 4: the remedy for each call site, or to change nothing"
  "$ashlar" advise demo.trace --measure none --top 3 --html "$report" >advice.txt
  digest advice.txt
  patch_and_verify
  say "next, your own program: ./dev demo -- prog args…; all of this one: $folder/{advice,verdict}.txt"
fi
say "the report, one file: $report; the command: $ashlar"
