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
exec "$wine" "$@"
