#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Formats every C++ source in place.
source scripts/dev/common.sh

need clang-format-19
find . \( -path ./build -o -path ./.git \) -prune -o \( -name '*.hpp' -o -name '*.cpp' \) -print0 |
  xargs -0 clang-format-19 -i
