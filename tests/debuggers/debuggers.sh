#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: debuggers.sh <folder of program.cpp> <folder of the printers> <program to make> <compiler> <flags…>
# Passes if gdb and lldb show the library's own figures about the program.
set -euo pipefail
sources=$1 printers=$2 program=$3
"${@:4}" -g -pthread "$sources/program.cpp" -o "$program"
export ASHLAR_DEBUGGERS=$printers ASHLAR_PROGRAM=${program##*/} PYTHONDONTWRITEBYTECODE=1
gdb -batch -nx -x "$sources/session.py" "$program"
lldb-19 -x -b -o "command script import $sources/session.py" "$program"
