#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# wine.sh <program> <argument>…: runs a program for Windows, with settings in a folder of its own that the first run makes.
set -euo pipefail
wine=/usr/lib/wine/wine64
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export WINEPREFIX=${WINEPREFIX:-$root/build/wine} WINEDEBUG=${WINEDEBUG:--all}
# Tests run beside each other, and one makes the settings.
if [[ ! -f $WINEPREFIX/.made ]]; then
  mkdir -p "$WINEPREFIX"
  (
    flock 9
    [[ -f $WINEPREFIX/.made ]] || "$wine" wineboot --init >/dev/null 2>&1 9>&-
    touch "$WINEPREFIX/.made"
  ) 9>"$WINEPREFIX/.lock"
fi

# Returns: the file that the test program among the arguments writes its results to, or nothing.
results_of() {
  local argument
  for argument in "$@"; do
    [[ $argument != --gtest_output=xml:* ]] || echo "${argument#*xml:}"
  done
}

status=0
"$wine" "$@" || status=$?
results=$(results_of "$@")
if ((status != 0)) && [[ -n $results && ! -e $results ]]; then
  # wine 8 ends a program now and then, rarely and without a word. One that wrote its results is never run again.
  echo "wine: $(basename "$1") ended with status $status before any result, and was run again: ${results##*/}" |
    tee -a "$WINEPREFIX/run-again"
  exec "$wine" "$@"
fi
exit "$status"
