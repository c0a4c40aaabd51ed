#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Formats every C++ source in place, and makes what is generated of them.
source scripts/dev/common.sh

need clang-format-19
find . \( -path ./build -o -path ./.git -o -path ./single_include \) -prune -o \( -name '*.hpp' -o -name '*.cpp' \) -print0 |
  xargs -0 clang-format-19 -i
python3 scripts/release/single_header.py --committed
python3 scripts/release/module.py
