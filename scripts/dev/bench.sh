#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds in Release and measures ashlar beside its peers. Words after the verb go to bench/run, or after advise_NAME to
# bench/advise/NAME.
source scripts/dev/common.sh

need "${compile_packages[@]}" python3 "${command_packages[@]}" "${rival_packages[@]}" "${bench_packages[@]}" \
  "${program_packages[@]}"
if [[ ${1:-} == advise_* ]]; then
  [[ -x bench/advise/${1#advise_} ]] || fail "bench: there is no bench/advise/${1#advise_}"
  say "building the command (Release)"
  configure release
  build release cli/all
  exec "bench/advise/${1#advise_}" "${@:2}"
fi
bench/run --dry-run "$@"
say "building the benches (Release)"
configure release
build release bench/all
exec bench/run "$@"
