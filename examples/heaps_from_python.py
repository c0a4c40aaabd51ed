# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Buffers of one phase in a heap of their own, from Python by ctypes: one call frees them all.

    heaps_from_python.py [path of libashlar.so]
"""
import ctypes
import json
import sys

ashlar = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libashlar.so.1")
ashlar.ashlar_heap_new.restype = ctypes.c_void_p
ashlar.ashlar_heap_new.argtypes = [ctypes.c_void_p]
ashlar.ashlar_heap_zalloc.restype = ctypes.c_void_p
ashlar.ashlar_heap_zalloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
ashlar.ashlar_heap_delete.argtypes = [ctypes.c_void_p]
writer = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t, ctypes.c_void_p)
visitor = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
ashlar.ashlar_heap_statistics_json.argtypes = [ctypes.c_void_p, writer, ctypes.c_void_p]
ashlar.ashlar_heap_visit.argtypes = [ctypes.c_void_p, visitor, ctypes.c_void_p]


class Phase:
    """Buffers that end together."""

    def __init__(self):
        self.heap = ashlar.ashlar_heap_new(None)
        if not self.heap:
            raise MemoryError

    def __enter__(self):
        return self

    def __exit__(self, *_):
        ashlar.ashlar_heap_delete(self.heap)

    def doubles(self, count):
        address = ashlar.ashlar_heap_zalloc(self.heap, count * ctypes.sizeof(ctypes.c_double))
        if not address:
            raise MemoryError
        return (ctypes.c_double * count).from_address(address)

    def statistics(self):
        parts = []
        write = writer(lambda text, size, _: parts.append(ctypes.string_at(text, size)))
        ashlar.ashlar_heap_statistics_json(self.heap, write, None)
        return json.loads(b"".join(parts))

    def blocks(self):
        found = []
        visit = visitor(lambda address, size, _: found.append((address, size)))
        ashlar.ashlar_heap_visit(self.heap, visit, None)
        return found


with Phase() as phase:
    rows = [phase.doubles(1000) for _ in range(100)]
    for row in rows:
        row[0] = 1.5
    assert sum(row[0] + row[999] for row in rows) == 150.0
    addresses = {address for address, _ in phase.blocks()}
    assert all(ctypes.addressof(row) in addresses for row in rows)
    live = phase.statistics()["all"]
    print(f"{live['live_blocks']} blocks, {live['live_bytes']} bytes, all freed by one call")
