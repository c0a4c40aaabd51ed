# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The form that all printers share: a summary in one line, and the parts behind it."""
from ashlar_printers.reading import UNREADABLE, without_reference


def amount(number):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if number and number % unit == 0:
            return f"{number // unit} {name}"
    return counted(number, "byte")


def counted(number, noun):
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class Printer:
    """`summary()` may raise; then the object prints as not readable and has no children."""

    name = ""

    def __init__(self, value):
        self.value = without_reference(value)

    def to_string(self):
        try:
            return f"{self.name}: {self.summary()}"
        except UNREADABLE as why:
            return f"{self.name}: not initialised, or damaged ({why})"

    def children(self):
        try:
            self.summary()
            yield from self.parts()
        except UNREADABLE:
            return

    def parts(self):
        return iter(())
