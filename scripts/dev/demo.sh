#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The whole loop once: record a real program, advise for each of its call sites, try each remedy on the program itself,
# and prove the gain of libashlar.so with an interval.
source scripts/dev/common.sh

folder=build/demo/loop
trace=$folder/demo.trace
report="ashlar-report.html"
ashlar=build/demo/bin/ashlar

# Effects: runs a command that measures. It may find a loss, too few runs, or a machine that is unfit.
measure() { "$@" || (($? >= 3)); }

[[ ${1:-} != -- ]] || shift
program=("$@")
packages=("${compile_packages[@]}" "${command_packages[@]}" "${rival_packages[@]}")
is_own=$((${#program[@]} == 0)) # a script in Lua, which builds an index and trees of tables
((!is_own)) || packages+=(lua5.4) program=(lua5.4 scripts/dev/demo.lua)
need "${packages[@]}"

say "1 of 4: building the ashlar command; the first time this takes a minute or two, later a second"
configure demo
build demo cli/all

rm -rf "$folder" && mkdir -p "$folder"
say "2 of 4: recording every allocation of ${program[*]}"
"$ashlar" record --stacks 16 -o "$trace" -- "${program[@]}"

if ((is_own)); then
  say "3 of 4: the remedy for each call site, and each remedy tried on the program, for 28 seconds"
  measure "$ashlar" advise "$trace" --top 3 --measure run --budget 28s --html "$report"
  say "the report, one file: $PWD/$report"
  say "4 of 4: the program under libashlar.so in pairs of runs, for 12 seconds at most"
  measure "$ashlar" verify --budget 12 -- "${program[@]}"
else
  say "3 of 4: the remedy for each call site, or to change nothing"
  "$ashlar" advise "$trace" --measure none --top 3 --html "$report"
  say "the report, one file: $PWD/$report"
  say "4 of 4 runs your program some hundred times, so it is left to you:" \
    "$ashlar advise $trace --measure run; $ashlar verify -- ${program[*]@Q}"
fi
