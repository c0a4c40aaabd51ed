# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formatters of lldb for pools, arenas, heaps, counted pointers and slot maps.

usage, in lldb or in ~/.lldbinit: command script import <folder>/ashlar_lldb.py

The printers are those of gdb.
"""
import itertools
import sys
from pathlib import Path

import lldb

sys.path.insert(0, str(Path(__file__).resolve().parent))

from ashlar_printers import over_lldb  # noqa: E402  (the path is set just above)
from ashlar_printers.types import PRINTERS, pattern_of, printer_of  # noqa: E402

MOST = 300  # parts


def printer(value):
    over_lldb.look_at(value.GetTarget())
    return printer_of(over_lldb.Value(value))


def summary(value, _):
    return printer(value).to_string()


class Parts:
    def __init__(self, value, _):
        self.value, self.parts = value, []

    def update(self):
        self.parts = list(itertools.islice(printer(self.value).children(), MOST))

    def num_children(self):
        return len(self.parts)

    def has_children(self):
        return True

    def get_child_index(self, name):
        return next((number for number, (key, _) in enumerate(self.parts) if key == name), -1)

    def get_child_at_index(self, index):
        key, part = self.parts[index] if 0 <= index < len(self.parts) else (None, None)
        if isinstance(part, over_lldb.Value):
            return self.object(key, part)
        return None if key is None else self.text(key, str(part))

    def object(self, key, part):
        if isinstance(part.of, lldb.SBValue):
            return self.value.CreateValueFromAddress(key, int(part.address), part.type.of)
        bytes_of = lldb.SBData.CreateDataFromUInt64Array(lldb.eByteOrderLittle, part.type.sizeof, [int(part)])
        return self.value.CreateValueFromData(key, bytes_of, part.type.of)

    def text(self, key, text):
        data = lldb.SBData.CreateDataFromCString(lldb.eByteOrderLittle, 8, text)
        kind = over_lldb.lookup_type("char").of.GetArrayType(data.GetByteSize())
        return self.value.CreateValueFromData(key, data, kind)


def __lldb_init_module(debugger, _):
    for names in PRINTERS:
        pattern = pattern_of(names)
        debugger.HandleCommand(f"type summary add -w ashlar -e -x '{pattern}' -F {__name__}.summary")
        debugger.HandleCommand(f"type synthetic add -w ashlar -x '{pattern}' -l {__name__}.Parts")
    debugger.HandleCommand("type category enable ashlar")
