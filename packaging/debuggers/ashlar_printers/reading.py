# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads objects and raw memory of the program, and finds out which are damaged."""
import struct

from ashlar_printers.debugger import gdb
from ashlar_printers.members import MEMBERS


class Damaged(Exception):
    """The members of an object contradict each other: it is not constructed, or was overwritten."""


UNREADABLE = (Damaged, gdb.error, ValueError, OverflowError, TypeError, RuntimeError)


def expect(condition, what):
    if not condition:
        raise Damaged(what)


def without_reference(value):
    """The object behind a reference: the name of its type has no `const` once it is unqualified."""
    code = value.type.strip_typedefs().code
    return value.referenced_value() if code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF) else value


def pointee(value):
    """The object behind pointers and references."""
    is_pointer = value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR
    return value.dereference() if is_pointer else without_reference(value)


class View:
    """An object by the meanings of its members: `View(value, "pool").taken`."""

    def __init__(self, value, kind):
        self._value, self._members = value, MEMBERS[kind]

    def __getattr__(self, meaning):
        value = self._value
        for name in self._members[meaning].split("."):
            value = pointee(value)[name]
        return value

    def number(self, meaning):
        return int(getattr(self, meaning))

    def has(self, meaning):
        """Whether a kind of objects has this meaning, and the object the members of it."""
        try:
            return getattr(self, meaning) is not None
        except (KeyError, gdb.error):
            return False


def memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size)) if size else b""


def words_at(address, count):
    return struct.unpack(f"={count}Q", memory(address, 8 * count))


def pointer_bytes():
    return gdb.lookup_type("void").pointer().sizeof


def pointers_at(address, count):
    size = pointer_bytes()
    raw = memory(address, size * count)
    return [int.from_bytes(raw[i:i + size], "little") for i in range(0, len(raw), size)]


def object_at(address, kind):
    """The object of that type; a text where it cannot be read, since gdb would print nothing of what follows."""
    try:
        found = gdb.Value(int(address)).cast(kind.pointer()).dereference()
        found.fetch_lazy()
        return found
    except gdb.MemoryError as why:
        return f"not readable ({why})"


class Rows:
    """Structs in raw memory, which is a hundred times faster than one value of gdb for each member."""

    def __init__(self, kind, row_type):
        fields = {field.name: field for field in row_type.strip_typedefs().fields()}
        self.stride = row_type.sizeof
        self._places = {}
        for meaning, name in MEMBERS[kind].items():
            expect(name in fields, f"no member {name} in {row_type}")
            self._places[meaning] = (fields[name].bitpos // 8, fields[name].type.sizeof)

    def read(self, address, count):
        raw = memory(address, self.stride * count)
        return [self._row(raw, i * self.stride) for i in range(count)]

    def _row(self, raw, start):
        return {meaning: int.from_bytes(raw[start + at:start + at + size], "little")
                for meaning, (at, size) in self._places.items()}


def set_bits(mask):
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1
