#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds in Release and measures ashlar beside its peers. Words after the verb go to bench/run.
source scripts/dev/common.sh

need "${compile_packages[@]}" python3 "${command_packages[@]}" "${rival_packages[@]}" "${bench_packages[@]}" \
  "${program_packages[@]}"
say "building the benches (Release)"
configure release
build release bench/all
exec bench/run "$@"
