#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Removes the output of the other verbs.
source scripts/dev/common.sh

rm -rf build ashlar-report.html
say "removed build/ and ashlar-report.html"
