# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the printers take of gdb, by its names, over lldb."""
import re

import lldb

MOST = 1000  # constants of one name
TYPE_CODE_PTR, TYPE_CODE_REF, TYPE_CODE_RVALUE_REF, TYPE_CODE_ARRAY, TYPE_CODE_OTHER = range(5)


class error(RuntimeError):
    """Something is not there."""


class MemoryError(error):
    """An address cannot be read."""


class current:
    """The program that the printers look at, as of the last `look_at`."""

    target = process = None


def look_at(target):
    current.target, current.process = target, target.GetProcess()


def plain(name):
    """A name of a type and that of its members differ in spaces, and in the suffix of a number."""
    return re.sub(r"(?<=\d)u?l*\b|\s", "", name)


class Field:
    def __init__(self, member):
        self.name, self.type, self.bitpos = member.GetName(), Type(member.GetType()), member.GetOffsetInBits()


class Type:
    def __init__(self, of):
        self.of = of
        self.code = (TYPE_CODE_PTR if of.IsPointerType() else TYPE_CODE_REF if of.IsReferenceType() else
                     TYPE_CODE_ARRAY if of.IsArrayType() else TYPE_CODE_OTHER)
        self.sizeof = of.GetByteSize()

    def __str__(self):
        return self.of.GetName()

    def strip_typedefs(self):
        return Type(self.of.GetCanonicalType())

    def unqualified(self):
        return Type(self.of.GetUnqualifiedType())

    def pointer(self):
        return Type(self.of.GetPointerType())

    def target(self):
        return Type(self.of.GetArrayElementType() if self.code == TYPE_CODE_ARRAY else self.of.GetPointeeType())

    def template_argument(self, number):
        return found(Type(self.of.GetTemplateArgumentType(number)), f"template argument {number} of {self}")

    def range(self):
        return 0, self.sizeof // self.target().sizeof - 1

    def fields(self):
        return [Field(member) for member in self.of.get_fields_array()]

    def constant(self, name):
        """A static member of the type, or of one that it derives from."""
        wanted = plain(f"{self.strip_typedefs().unqualified()}::{name}")
        constants = (each for each in current.target.FindGlobalVariables(name, MOST) if plain(each.GetName()) == wanted)
        bases = (Type(base.GetType()).constant(name) for base in self.of.GetCanonicalType().get_bases_array())
        return next(constants, None) or next(filter(None, bases), None)


def found(kind, what):
    if not kind.of.IsValid():
        raise error(f"there is no {what}")
    return kind


class Value:
    """An object of the program; or a number, until it is cast to a pointer."""

    def __init__(self, of, kind=None):
        self.of = of.GetNonSyntheticValue() if isinstance(of, lldb.SBValue) else of
        self.type = kind or (Type(self.of.GetType()) if isinstance(self.of, lldb.SBValue) else None)

    def __int__(self):
        if isinstance(self.of, int):
            return self.of
        why = lldb.SBError()
        number = (self.of.GetValueAsSigned if self.of.GetType().GetTypeFlags() & lldb.eTypeIsSigned
                  else self.of.GetValueAsUnsigned)(why)
        if why.Fail():
            raise error(why.GetCString())
        return number

    def __bool__(self):
        return int(self) != 0

    def __eq__(self, other):
        return int(self) == int(other)

    def __add__(self, count):
        return Value(int(self) + count * self.type.target().sizeof, self.type)

    def __getitem__(self, key):
        if isinstance(key, int):
            first = self.address.cast(self.type.target().pointer()) if self.type.code == TYPE_CODE_ARRAY else self
            return (first + key).dereference()
        member = self.of.GetChildMemberWithName(key) or self.type.constant(key)
        if not member and not self.of.GetType():
            raise MemoryError("Cannot access memory of the object")
        if not member:
            raise error(f"there is no member {key} in {self.type}")
        return Value(member)

    @property
    def address(self):
        at = self.of.GetLoadAddress()
        return None if at == lldb.LLDB_INVALID_ADDRESS else Value(at, self.type.pointer())

    def cast(self, kind):
        return Value(int(self), kind)

    def dereference(self):
        kind = self.type.strip_typedefs().target()
        place = lldb.SBAddress(int(self), current.target)
        return Value(current.target.CreateValueFromAddress("object", place, kind.of), kind)

    def referenced_value(self):
        return Value(self.of.Dereference())

    def fetch_lazy(self):
        selected_inferior().read_memory(int(self.address), self.type.sizeof)


class selected_inferior:
    @staticmethod
    def read_memory(address, size):
        why = lldb.SBError()
        read = current.process.ReadMemory(address, size, why) if 0 <= address < 1 << 64 else None
        if read is None or why.Fail():
            raise MemoryError(f"Cannot access memory at address {address:#x}")
        return read


def lookup_type(name):
    basic = {"void": lldb.eBasicTypeVoid, "unsigned long": lldb.eBasicTypeUnsignedLong, "char": lldb.eBasicTypeChar}
    found_there = current.target.GetBasicType(basic[name]) if name in basic else current.target.FindFirstType(name.replace(">>", "> >"))
    return found(Type(found_there), f"type {name}")


def lookup_global_symbol(name):
    """Whether there is a function of that name."""
    functions = (each.GetFunction().GetName() or "" for each in current.target.FindFunctions(name.rpartition("::")[2]))
    return any(plain(function).startswith(plain(name) + "(") for function in functions)


lookup_static_symbol = lookup_global_symbol
