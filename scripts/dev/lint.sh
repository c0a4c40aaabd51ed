#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Checks the house rules: the scripts in scripts/lints, clang-format, shellcheck and clang-tidy.
source scripts/dev/common.sh

need "${compile_packages[@]}" "${lint_packages[@]}" "${command_packages[@]}"
python3 scripts/lint.py
