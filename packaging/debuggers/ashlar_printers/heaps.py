# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Printers of the heaps, for one thread and for any."""
from ashlar_printers.debugger import gdb
from ashlar_printers.printer import Printer, amount, counted
from ashlar_printers.reading import Rows, View, expect, pointers_at

SLICE_BYTES = 64 * 1024
SLICES = 64  # of a segment
NAMES = "engine", "local_heap", "owner_heap"  # of a part: an engine of a `heap`, or a heap with one
MOST_CACHED = 1 << 20  # cells of a class; a longer list goes in a circle


class Blocks:
    """The blocks of one size class, or all spans, or all huge blocks."""

    def __init__(self, size=0):
        self.size, self.live, self.live_bytes, self.free, self.slabs = size, 0, 0, 0, 0

    def rank(self):
        """Sorts by size, what has no one size last."""
        return self.size == 0, self.size

    def __str__(self):
        free = f", {self.free} free in {counted(self.slabs, 'slab')}" if self.size else ""
        return f"{self.live} live, {amount(self.live_bytes)}{free}"


class HeapPart(Printer):
    """A `local_heap`, or what one thread has of a `heap`: its live blocks by size class."""

    def __init__(self, value):
        super().__init__(value)
        self.name = next(name for name in NAMES if f"::{name}<" in str(value.type.strip_typedefs()))
        self.heap = View(value if self.name == "engine" else View(value, "heap_part").engine, "engine")

    def summary(self):
        blocks = self.survey()
        live, live_bytes = sum(each.live for each in blocks.values()), sum(each.live_bytes for each in blocks.values())
        return (f"{counted(live, 'live block')}, {amount(live_bytes)}; {amount(self.heap.number('held'))} held, "
                f"{counted(self.heap.number('segments'), 'segment')}")

    def parts(self):
        for number, each in sorted(self.survey().items(), key=lambda item: item[1].rank()):
            if each.size or each.live:
                yield f"[{amount(each.size)}]" if each.size else "[spans]" if number == 0 else "[huge]", str(each)

    def survey(self):
        """Returns {class: blocks}; 0 has the spans that are one block, and -1 the huge blocks."""
        found = {0: Blocks(), -1: Blocks()}
        found[-1].live, found[-1].live_bytes = self.heap.number("huge_blocks"), self.heap.number("huge_bytes")
        for span in self.spans():
            self.add(found, span)
        for number, cached in enumerate(self.cached()):
            expect(cached == 0 or number in found and cached <= found[number].live, "cached cells without a slab")
            if cached:
                found[number].live -= cached
                found[number].free += cached
        for each in found.values():
            each.live_bytes = each.live * each.size if each.size else each.live_bytes
        return found

    @staticmethod
    def add(found, span):
        blocks = found.setdefault(span["number"], Blocks(span["cell_bytes"]))
        if span["number"]:
            expect(span["free"] <= span["capacity"], "more free cells than a slab has")
            blocks.live += span["capacity"] - span["free"]
            blocks.free += span["free"]
            blocks.slabs += 1
        elif not span["is_free"]:
            blocks.live += 1
            blocks.live_bytes += span["length"] * SLICE_BYTES

    def spans(self):
        """Yields the records of all spans, by segments."""
        for number in range(self.heap.number("segments")):
            slices = View(self.heap.segment_table[number], "segment_slices")
            home, free = View(slices.home, "segment"), slices.number("free")
            expect(home.number("index") == number, "a segment of another heap")
            rows = Rows("span", home.records.type.target())
            records = rows.read(int(home.records.address), SLICES - 1)
            at, end = -(-slices.home.type.target().sizeof // SLICE_BYTES), home.number("bytes") // SLICE_BYTES
            while at < min(end, SLICES):
                is_free = free >> at & 1
                if not is_free:
                    expect(records[at - 1]["length"] != 0, "a span without slices")
                    yield records[at - 1]
                at += 1 if is_free else records[at - 1]["length"]

    def cached(self):
        """Returns how many free cells of each class are in the thread cache, not in the bitmaps."""
        classes = self.heap.classes
        count = classes.type.sizeof // self.row_type(classes).sizeof
        tops = pointers_at(int(self.heap.tops.address), count)
        nexts = pointers_at(int(self.heap.nexts.address), count)
        first = int(classes.address)
        waiting = []
        for number in range(count):
            row = gdb.Value(first + number * self.row_type(classes).sizeof)
            mask = View(row.cast(self.row_type(classes).pointer()), "size_class").number("mask")
            waiting.append(bin(mask).count("1") + self.listed(tops[number], nexts[number]))
        return waiting

    @staticmethod
    def row_type(array):
        return array.type.strip_typedefs().template_argument(0)  # of a std::array

    @staticmethod
    def listed(cell, following):
        """Returns the length of a free list. A link names the cell two below its own."""
        length = 0
        while cell:
            below, = pointers_at(cell, 1)
            cell, following, length = following, below, length + 1
            expect(length <= MOST_CACHED, "a circle in a free list")
        return length


class Heap(Printer):
    """What the threads of a `heap` have, one child for each, and what they have together."""

    name = "heap"

    def summary(self):
        found = [block for _, part in self.parts() for block in HeapPart(part).survey().values()]
        live, live_bytes = sum(each.live for each in found), sum(each.live_bytes for each in found)
        parked = sum(1 for each in self.threads() if int(View(each, "thread_heap").is_parked))
        threads = sum(1 for _ in self.threads())
        return (f"{counted(live, 'live block')}, {amount(live_bytes)}; "
                f"{amount(View(self.value, 'heap').number('held'))} held, "
                f"{counted(threads, 'thread heap')}, {parked} parked")

    def threads(self):
        first = View(self.value, "heap").first
        at, = pointers_at(int(first.address), 1)  # of an atomic
        member = first.type.strip_typedefs().template_argument(0).strip_typedefs().target()
        seen = set()
        while at:
            expect(at not in seen, "a circle in the list of threads")
            seen.add(at)
            each = gdb.Value(at).cast(member.pointer()).dereference()
            yield each
            at = View(each, "thread_heap").number("next")

    def parts(self):
        yield "[common]", View(self.value, "heap").common
        for number, each in enumerate(self.threads()):
            state = ", parked" if int(View(each, "thread_heap").is_parked) else ""
            yield f"[thread heap {number}{state}]", View(each, "thread_heap").blocks
