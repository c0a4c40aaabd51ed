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

from ashlar_printers.heaps import Heap, HeapPart  # noqa: E402  (the path is set just above)
from ashlar_printers.objects import ObjectPool, RefPtr, SlotMap  # noqa: E402
from ashlar_printers.resources import Arena, BlockPool  # noqa: E402


def build():
    """Names are `ashlar::<inline namespace>::<type><…>`; the inline namespace says version, level and tools."""
    printers = gdb.printing.RegexpCollectionPrettyPrinter("ashlar")
    for names, printer in (("block_pool|fixed_block_pool", BlockPool), ("arena", Arena), ("heap", Heap),
                           ("local_heap|owner_heap|detail::engine", HeapPart), ("object_pool", ObjectPool), ("ref_ptr", RefPtr),
                           ("slot_map", SlotMap)):
        printers.add_printer(names, rf"^ashlar::(\w+::)?({names})<.*>$", printer)
    return printers


gdb.printing.register_pretty_printer(None, build(), replace=True)
