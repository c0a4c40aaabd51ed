# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Printers of the resources: pools of cells, and arenas."""
from ashlar_printers.debugger import gdb
from ashlar_printers.printer import Printer, amount, counted
from ashlar_printers.reading import View, expect, pointer_bytes, pointers_at, set_bits, words_at


class BlockPool(Printer):
    """Live cells by address: neither free in a bitmap, nor in the cache of the pool."""

    def __init__(self, value):
        super().__init__(value)
        self.name = "fixed_block_pool" if "::fixed_block_pool<" in str(value.type.strip_typedefs()) else "block_pool"
        self.pool = View(value, "pool")

    def summary(self):
        of = self.pool.number
        cached = self.cache_slots() + bin(of("mask")).count("1")
        expect(0 <= cached <= of("taken") <= of("capacity"), "more cells taken than there are")
        expect((of("slabs") == 0) == (of("tree") == 0), "slabs without a tree of slabs")
        if of("slabs") and self.value.address is not None:
            expect(int(View(self.pool.tree, "slab").owner) == int(self.value.address), "a slab of another pool")
        most = (1 << 8 * gdb.lookup_type("unsigned long").sizeof) - 1 - of("barred")  # a pool stores the complement
        capacity = min(of("capacity"), most)
        return (f"{of('taken') - cached} live of {counted(capacity, 'cell')} of {amount(self.cell_bytes())}, "
                f"{counted(of('slabs'), 'slab')}")

    def geometry(self):
        own = "geometry" if self.pool.has("geometry") else "static_geometry"
        return View(getattr(self.pool, own), "geometry")

    def cell_bytes(self):
        return self.geometry().number("cell_bytes")

    def stride(self):
        geometry = self.geometry()
        return geometry.number("stride") if geometry.has("stride") else geometry.number("cell_bytes")

    def cache_slots(self):
        return (self.pool.number("cache_top") - self.pool.number("cache")) // pointer_bytes()

    def cached(self):
        word, stride = self.pool.number("base"), self.stride()
        cells = set(pointers_at(self.pool.number("cache"), self.cache_slots()))
        return cells | {word + bit * stride for bit in set_bits(self.pool.number("mask"))}

    def slabs(self):
        """Yields the slabs by address, without recursion: a damaged tree may be as deep as it likes."""
        above, at, left = [], self.pool.tree, self.pool.number("slabs")
        while (int(at) or above) and left:
            while int(at):
                expect(len(above) <= left, "a circle in the tree of slabs")
                above.append(at)
                at = View(at, "slab").left
            slab = above.pop()
            left -= 1
            yield slab.dereference()
            at = View(slab, "slab").right

    def parts(self):
        cached, stride, number = self.cached(), self.stride(), 0
        void = gdb.lookup_type("void").pointer()
        for slab in self.slabs():
            view = View(slab, "slab")
            capacity, cells = view.number("capacity"), view.number("cells")
            bitmap = words_at(int(slab.address) + slab.type.sizeof, (capacity + 63) // 64)
            for index in range(capacity):
                cell = cells + index * stride
                if not bitmap[index // 64] >> index % 64 & 1 and cell not in cached:
                    yield f"[{number}]", gdb.Value(cell).cast(void)
                    number += 1


class Arena(Printer):
    """Chunks, the newest first."""

    name = "arena"

    def begin(self, chunk):
        return int(View(chunk, "chunk").begin) if int(chunk) else self.buffer()[0]

    def buffer(self):
        return pointers_at(int(View(self.value, "arena").buffer.address), 2)  # of any standard library

    def summary(self):
        arena = View(self.value, "arena")
        begin, top, end = self.begin(arena.chunk), arena.number("top"), arena.number("end")
        expect(begin <= top <= end, "the top lies outside of the chunk")
        capacity = self.end_of(arena.chunk) - begin
        expect(end - begin == capacity, "the end is not that of the chunk")
        used = arena.number("used_below") + top - begin
        return (f"{amount(used)} used, at most {amount(max(used, arena.number('high_water')))}; "
                f"{amount(arena.number('held'))} held in {counted(arena.number('chunks'), 'chunk')}")

    def end_of(self, chunk):
        if not int(chunk):
            return sum(self.buffer())
        return View(chunk, "chunk").number("begin") + View(chunk, "chunk").number("bytes") - chunk.type.target().sizeof

    def parts(self):
        arena = View(self.value, "arena")
        chunk, top, left = arena.chunk, arena.number("top"), arena.number("chunks")
        while int(chunk) and left:
            used = top - self.begin(chunk)
            yield f"[chunk {int(chunk):#x}]", f"{amount(used)} of {amount(self.end_of(chunk) - self.begin(chunk))}"
            chunk, top, left = View(chunk, "chunk").below, View(chunk, "chunk").number("below_top"), left - 1
        size = self.buffer()[1]
        if size and not int(chunk):
            yield "[buffer]", f"{amount(top - self.buffer()[0])} of {amount(size)}"
