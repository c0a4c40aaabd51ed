#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: optimised.sh <ashlar's folder>: where a program optimises, g++ warns of what it believes after inlining. The
# levels with the fewest and the most checks.
set -euo pipefail
type -P g++ >/dev/null || {
  echo "skipped: there is no g++"
  exit 77
}
for level in 0 2; do
  g++ -std=c++20 -O3 -DNDEBUG "-DASHLAR_CHECKING=$level" -Wall -Wextra -Werror "-I$1/include" \
    -c "$1/tests/consumer/project/optimised.cpp" -o /dev/null &
done
wait -n && wait -n
