#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Checks the lock-free parts: every model on the shipped headers, and on copies with a fault planted in each. Words
# after the verb go to model/check.py.
source scripts/dev/common.sh

need clang-19 python3
mkdir -p build
exec python3 model/check.py --compiler clang++-19 "$@"
