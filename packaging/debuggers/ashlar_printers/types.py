# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The printer of each type."""
import re

from ashlar_printers.heaps import Heap, HeapPart
from ashlar_printers.objects import ObjectPool, RefPtr, SlotMap
from ashlar_printers.reading import without_reference
from ashlar_printers.resources import Arena, BlockPool

PRINTERS = {"block_pool|fixed_block_pool": BlockPool, "arena": Arena, "heap": Heap,
            "local_heap|owner_heap|detail::engine": HeapPart, "object_pool": ObjectPool, "ref_ptr": RefPtr,
            "slot_map": SlotMap}


def pattern_of(names):
    """Names are `ashlar::<inline namespace>::<type><…>`; the inline namespace says version, level and tools."""
    return rf"^ashlar::([a-z0-9_]+::)?({names})<.*>$"


def printer_of(value):
    """The printer of an object, or of what a reference names; None for other types."""
    name = str(without_reference(value).type.strip_typedefs().unqualified())
    return next((printer(value) for names, printer in PRINTERS.items() if re.match(pattern_of(names), name)), None)
