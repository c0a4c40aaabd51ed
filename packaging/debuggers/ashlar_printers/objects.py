# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Printers of the faces that hold objects: counted pointers, object pools, slot maps."""
import struct

from ashlar_printers.debugger import gdb
from ashlar_printers.members import MEMBERS
from ashlar_printers.printer import Printer, counted
from ashlar_printers.reading import Rows, View, expect, memory, object_at

SLAB_BYTES = 256 * 1024
SLAB_COLOURS, COLOUR_BYTES = 16, 64
FREE, NUMBER = 1 << 31, (1 << 30) - 1  # of the word of a slot
INLINE_SLABS = 64  # of the directory; a segment has seven times as many as lie before it


class RefPtr(Printer):
    """The object and, where its slab counts, the number of references."""

    name = "ref_ptr"

    def summary(self):
        pointer = View(self.value, "ref_ptr").object
        if not int(pointer):
            return "null"
        memory(int(pointer), 1)  # a wild pointer has nothing behind it
        return f"{int(pointer):#x}, {self.references(int(pointer))}"

    def references(self, pointer):
        if self.counts_itself():
            return "the object counts"
        slab = self.slab_around(pointer)
        offset = pointer - slab.number("slots")
        expect(0 <= offset < slab.number("capacity") * slab.number("stride"), "no object of a pool")
        index = offset * slab.number("factor") >> 40
        word, = struct.unpack("=I", memory(slab.number("words") + index * slab.number("word_stride"), 4))
        expect(word and not word >> 30, "the object is gone")
        return counted(word, "reference")

    def slab_around(self, pointer):
        start = pointer // SLAB_BYTES * SLAB_BYTES
        header = start + pointer // SLAB_BYTES % SLAB_COLOURS * COLOUR_BYTES
        threads = self.value.type.strip_typedefs().template_argument(1)
        kind = gdb.lookup_type(f"{self.namespace()}::detail::slot_slab<{threads}>")
        return View(gdb.Value(header).cast(kind.pointer()).dereference(), "slot_slab")

    def namespace(self):
        return str(self.value.type.strip_typedefs().unqualified()).partition("::ref_ptr<")[0]

    def counts_itself(self):
        """Whether the count is a member of the object: by the placement, or by a `ref_count` of the type's own."""
        of, own = self.value.type.strip_typedefs(), MEMBERS["placement"]
        if "::count::in_member<" in str(of.template_argument(2)):
            return True
        traits = f"{self.namespace()}::detail::placement_traits<{of.template_argument(0).unqualified()}, " \
            f"{of.template_argument(2)}>"
        getter = f"{traits}::{own['getter']}"  # g++ 12 tells no value of the constant, but has the function
        if gdb.lookup_global_symbol(getter) or gdb.lookup_static_symbol(getter):
            return True
        try:
            return bool(gdb.Value(0).cast(gdb.lookup_type(traits).pointer()).dereference()[own["is_own"]])
        except gdb.error:
            return False

    def parts(self):
        pointer = View(self.value, "ref_ptr").object
        if int(pointer):
            yield "[object]", object_at(pointer, pointer.type.target())


class ObjectPool(Printer):
    """Live objects, in the order of their slots."""

    name = "object_pool"

    def __init__(self, value):
        super().__init__(value)
        self.pool = View(value, "object_pool")
        self.slots = Slabs(self.pool) if self.pool.has("slabs") else Run(self.pool)

    def summary(self):
        live, capacity = self.slots.live(), self.slots.capacity()
        expect(live <= capacity, "more objects than slots")
        return f"{live} live of {counted(capacity, 'object')}"

    def parts(self):
        object_type = self.value.type.strip_typedefs().template_argument(0)
        for number, slot in enumerate(self.slots.taken()):
            yield f"[{number}]", object_at(slot, object_type)


def slot_words(address, count, stride=4):
    raw = memory(address, count * stride)
    return [int.from_bytes(raw[at:at + 4], "little") for at in range(0, len(raw), stride)]


class Run:
    """The slots of a bounded pool: in the pool itself, or in one block."""

    def __init__(self, pool):
        self.pool = pool

    def run(self):
        block = View(self.pool.run, "slot_block")
        return block if block.has("capacity") else View(self.pool.run, "slot_run")

    def capacity(self):
        run = self.run()
        return run.number("capacity") if run.has("capacity") else run.words.type.range()[1] + 1

    def words(self):
        words = self.run().words
        address = int(words.address) if words.type.code == gdb.TYPE_CODE_ARRAY else int(words)
        expect(self.pool.number("used") <= self.capacity(), "more slots used than there are")
        return slot_words(address, self.pool.number("used"))

    def free(self):
        """Returns the numbers of free slots. Words of one thread's pool tell it through the free list alone."""
        words = self.words()
        if "shared_slot_word" in str(self.run().words.type):
            return {number for number, word in enumerate(words) if word & FREE}
        free, at = set(), self.pool.number("top")
        while at != NUMBER:
            expect(at < len(words) and at not in free, "a free list that leaves the slots, or goes in a circle")
            free.add(at)
            at = words[at] & NUMBER
        return free

    def live(self):
        return self.pool.number("used") - len(self.free())

    def taken(self):
        free, slots = self.free(), self.run().slots
        start = int(slots.address) if slots.type.code == gdb.TYPE_CODE_ARRAY else int(slots)
        stride = slots.type.target().sizeof
        return (start + number * stride for number in range(self.pool.number("used")) if number not in free)


class Slabs:
    """The slots of a growing pool. A slot that another thread gives back counts as live until its owner takes it in."""

    def __init__(self, pool):
        self.slabs = View(pool.slabs, "slot_slabs")

    def capacity(self):
        return self.slabs.number("capacity")

    def each(self):
        """Yields the slabs by their numbers."""
        core = View(self.slabs.core, "slot_core")
        for number in range(core.number("count") if int(self.slabs.core) else 0):
            segment = ((number // INLINE_SLABS).bit_length() - 1) // 3 if number >= INLINE_SLABS else None
            table = core.first if segment is None else core.segments
            row = self.at(table, number) if segment is None else \
                self.at(table, segment)[number - (INLINE_SLABS << 3 * segment)]
            if int(row):
                yield View(row.dereference(), "slot_slab")

    @staticmethod
    def at(array, index):
        """The element of a std::array of any standard library."""
        kind = array.type.strip_typedefs().template_argument(0)
        return (array.address.cast(kind.pointer()) + index).dereference()

    def live(self):
        return sum(slab.number("live") for slab in self.each())

    def taken(self):
        for slab in self.each():
            words = slot_words(slab.number("words"), slab.number("used"), slab.number("word_stride"))
            for index, word in enumerate(words):
                if not word & FREE:
                    yield slab.number("slots") + index * slab.number("stride")


class SlotMap(Printer):
    """Objects by their handles: `[index, generation]`."""

    name = "slot_map"

    def summary(self):
        of = View(self.value, "slot_map").number
        expect(of("live") + of("retired") <= of("slots") <= of("capacity") <= of("max"), "more objects than slots")
        expect((of("entries") == 0) == (of("capacity") == 0), "slots without a table")
        return f"{counted(of('live'), 'object')}, {counted(of('slots'), 'slot')}, {of('retired')} retired"

    def parts(self):
        entries, slots = View(self.value, "slot_map").entries, View(self.value, "slot_map").number("slots")
        rows = Rows("entry", entries.type.target())
        object_type = self.value.type.strip_typedefs().template_argument(0)
        for first in range(0, slots, 256):
            table = rows.read(int(entries) + first * rows.stride, min(256, slots - first))
            for index, entry in enumerate(table, first):
                if entry["object"]:
                    yield f"[{index}, {entry['generation']}]", object_at(entry["object"], object_type)
