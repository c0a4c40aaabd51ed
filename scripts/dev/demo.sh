#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The whole loop once: record a real program, advise for each of its call sites, replay it against every allocator here,
# and prove the gain on the program itself.
source scripts/dev/common.sh

folder=build/demo
trace=$folder/demo.trace
report="ashlar-report.html"
ashlar=build/release/bin/ashlar

[[ ${1:-} != -- ]] || shift
program=("$@")
packages=("${compile_packages[@]}" "${command_packages[@]}" "${rival_packages[@]}")
is_own=$((${#program[@]} == 0)) # a script in Lua, which builds an index and trees of tables
((!is_own)) || packages+=(lua5.4) program=(lua5.4 scripts/dev/demo.lua)
need "${packages[@]}"

say "1 of 5: building the ashlar command (Release); the first time this takes minutes, later a second"
configure release
build release cli/all

rm -rf "$folder" && mkdir -p "$folder"
say "2 of 5: recording every allocation of ${program[*]}"
"$ashlar" record --stacks 16 -o "$trace" -- "${program[@]}"

say "3 of 5: the remedy for each call site, or to change nothing"
"$ashlar" advise "$trace" --top 3

say "4 of 5: replaying against every allocator on this machine: until all is decided, for a minute at most"
"$ashlar" replay "$trace" --all --budget 60 --html "$report"
say "the report, one file: $PWD/$report"

if ((is_own)); then
  say "5 of 5: the program itself under libashlar.so, in pairs of runs, for a minute at most"
  "$ashlar" verify --budget 60 -- "${program[@]}" || (($? >= 3)) # worse, undecided, or a machine that is unfit
else
  say "5 of 5 runs your program some twenty times, so it is left to you: $ashlar verify -- ${program[*]@Q}"
fi
