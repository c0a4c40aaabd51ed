#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Checks the house rules: the scripts in scripts/lints, clang-format, shellcheck and clang-tidy. With `quick` without
# the one rule that takes minutes.
source scripts/dev/common.sh

need "${compile_packages[@]}" "${lint_packages[@]}" "${command_packages[@]}"
mapfile -t rules < <(python3 scripts/lint.py --list | awk "{print \$1}" | grep -v "^${1:+tidy_command}$")
python3 scripts/lint.py "${rules[@]}"
