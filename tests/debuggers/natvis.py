# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluates a natvis file in gdb, as debuggers that read natvis on Linux do: names are members of the object first."""
import re
import xml.etree.ElementTree as ElementTree

import gdb

NAMESPACE = "{http://schemas.microsoft.com/vstudio/debugger/natvis/2010}"
KNOWN = {"AutoVisualizer", "Type", "AlternativeType", "DisplayString", "Expand", "Item", "TreeItems", "LinkedListItems",
         "ArrayItems", "Size", "HeadPointer", "LeftPointer", "RightPointer", "NextPointer", "ValueNode", "ValuePointer"}
NAME = re.compile(r"(?<![\w.>$])(?!char\b)[A-Za-z_]\w*")
HOLE = re.compile(r"{{|}}|{([^{}]*)}")


def tag(element):
    return element.tag.removeprefix(NAMESPACE)


def text_of(element, name):
    return element.find(NAMESPACE + name).text


class Natvis:
    def __init__(self, path):
        self.types = ElementTree.parse(path).getroot()
        for element in self.types.iter():
            assert tag(element) in KNOWN, f"unknown element {tag(element)}"

    def names(self):
        """Returns, for each type, the set of its names."""
        return [{each.get("Name") for each in (entry, *entry.findall(NAMESPACE + "AlternativeType"))}
                for entry in self.types]

    def entry(self, value):
        name = str(value.type.strip_typedefs().unqualified())
        for entry, names in zip(self.types, self.names()):
            if any(re.fullmatch(re.escape(each).replace(r"\*", ".*"), name) for each in names):
                return entry
        raise AssertionError(f"no type in the natvis file for {name}")

    def summary(self, value):
        """What a debugger shows in the line of the object."""
        for line in self.entry(value).findall(NAMESPACE + "DisplayString"):
            if self.holds(value, line):
                return HOLE.sub(lambda hole: self.filled(value, hole), self.with_arguments(value, line.text))
        raise AssertionError("no DisplayString whose condition holds")

    def items(self, value):
        """Returns [(name, value)] of what unfolds."""
        found = []
        for part in self.entry(value).findall(NAMESPACE + "Expand/*"):
            if self.holds(value, part):
                found += getattr(self, "of_" + tag(part).lower())(value, part)
        return found

    def of_item(self, value, part):
        return [(part.get("Name"), evaluate(value, part.text))]

    def of_arrayitems(self, value, part):
        first = evaluate(value, text_of(part, "ValuePointer"))
        return [(f"[{i}]", first[i]) for i in range(int(evaluate(value, text_of(part, "Size"))))]

    def of_linkedlistitems(self, value, part):
        found, at = [], evaluate(value, text_of(part, "HeadPointer"))
        while int(at):
            found.append((f"[{len(found)}]", evaluate(at.dereference(), text_of(part, "ValueNode"))))
            at = evaluate(at.dereference(), text_of(part, "NextPointer"))
        return found

    def of_treeitems(self, value, part):
        def below(at):
            if not int(at):
                return []
            node = at.dereference()
            left, right = (below(evaluate(node, text_of(part, side))) for side in ("LeftPointer", "RightPointer"))
            return left + [evaluate(node, text_of(part, "ValueNode"))] + right

        found = below(evaluate(value, text_of(part, "HeadPointer")))
        assert len(found) == int(evaluate(value, text_of(part, "Size"))), "a tree of another size"
        return [(f"[{i}]", each) for i, each in enumerate(found)]

    @staticmethod
    def holds(value, element):
        condition = element.get("Condition")
        return condition is None or bool(evaluate(value, condition))

    @staticmethod
    def filled(value, hole):
        if hole.group(1) is None:
            return hole.group()[0]
        return evaluate(value, hole.group(1)).format_string()

    @staticmethod
    def with_arguments(value, text):
        of = value.type.strip_typedefs()
        return re.sub(r"\$T(\d)", lambda number: str(of.template_argument(int(number.group(1)) - 1)), text)


def evaluate(value, expression):
    gdb.set_convenience_variable("seen", value.address)
    return gdb.parse_and_eval(NAME.sub(lambda name: f"$seen->{name.group()}", re.sub(r",[xd]$", "", expression)))
