#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds in Release and measures ashlar beside its peers. Words after the verb go to bench/run, or after advise_programs
# to bench/advise/programs.
source scripts/dev/common.sh

need "${compile_packages[@]}" python3 "${command_packages[@]}" "${rival_packages[@]}" "${bench_packages[@]}" \
  "${program_packages[@]}"
if [[ ${1:-} == advise_programs ]]; then
  say "building the command (Release)"
  configure release
  build release cli/all
  exec bench/advise/programs "${@:2}"
fi
say "building the benches (Release)"
configure release
build release bench/all
exec bench/run "$@"
