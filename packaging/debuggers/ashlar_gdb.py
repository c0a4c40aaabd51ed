# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pretty-printers of gdb for pools, arenas, heaps, counted pointers and slot maps.

usage, in gdb or in ~/.gdbinit: source <folder>/ashlar_gdb.py

A printer reads memory and calls no function of the program, so it also works on a core file. An object that is not
constructed yet, or that was overwritten, prints as such and raises nothing.
"""
import inspect
import sys
from pathlib import Path

import gdb.printing

# Not __file__: in a script that another script sources, gdb leaves the other's name there.
sys.path.insert(0, str(Path(inspect.currentframe().f_code.co_filename).resolve().parent))

from ashlar_printers.types import PRINTERS, pattern_of  # noqa: E402  (the path is set just above)


def build():
    printers = gdb.printing.RegexpCollectionPrettyPrinter("ashlar")
    for names, printer in PRINTERS.items():
        printers.add_printer(names, pattern_of(names), printer)
    return printers


gdb.printing.register_pretty_printer(None, build(), replace=True)
