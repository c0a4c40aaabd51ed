# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The private members that the printers read, by their meanings: no other file names one."""

MEMBERS = {
    "pool": {
        "geometry": "geometry_", "static_geometry": "value", "max": "max_count_",
        "cached": "cached_.size_", "cache": "cached_.array_", "mask": "cached_.batch_.mask", "base": "cached_.batch_.base",
        "taken": "store_.set_.taken_", "capacity": "store_.set_.capacity_", "slabs": "store_.set_.slabs_",
        "tree": "store_.set_.all_.root_",
    },
    "geometry": {"cell_bytes": "cell_bytes_", "stride": "stride_.bytes"},
    "slab": {"left": "left", "right": "right", "owner": "owner", "cells": "cells", "capacity": "capacity"},
    "arena": {
        "top": "bump_.top_", "end": "bump_.end_", "chunk": "chunk_", "buffer": "buffer_", "used_below": "left_used_",
        "high_water": "high_water_", "held": "store_.held_", "chunks": "store_.count_",
    },
    "chunk": {"below": "below", "begin": "begin", "below_top": "below_top", "bytes": "bytes"},
    "heap_part": {
        "tops": "lists_.top_", "nexts": "lists_.next_", "classes": "core_.cells_.partial_",
        "held": "core_.space_.held_bytes_", "segments": "core_.segments_.count_",
        "segment_table": "core_.segments_.spaces_.data_", "huge_blocks": "core_.huge_.count_",
        "huge_bytes": "core_.huge_.bytes_",
    },
    "size_class": {"mask": "batch.mask"},
    "segment_slices": {"home": "home", "free": "free"},
    "segment": {"index": "head.index", "bytes": "head.bytes", "records": "records"},
    "span": {"cell_bytes": "cell_bytes", "capacity": "capacity", "free": "free", "number": "size_class",
             "length": "length", "is_free": "is_available"},
    "heap": {"held": "members_.space_.space_.held_bytes_", "common": "members_.common_",
             "first": "members_.heaps_.first_"},
    "thread_heap": {"blocks": "blocks", "next": "next", "is_parked": "is_parked"},
    "ref_ptr": {"object": "object_"},
    "placement": {"is_own": "is_own", "getter": "own"},
    "slot_slab": {"slots": "first_slot", "words": "words", "factor": "factor", "stride": "slot_bytes",
                  "word_stride": "word_stride", "capacity": "capacity", "live": "live", "used": "free.used_"},
    "object_pool": {"slabs": "slots_.slabs_", "run": "slots_.run_", "top": "slots_.stack_.top_",
                    "used": "slots_.stack_.used_"},
    "slot_run": {"slots": "memory_.all.cells", "words": "words_"},
    "slot_block": {"slots": "slots_", "words": "words_", "capacity": "capacity_"},
    "slot_slabs": {"core": "control_block_", "capacity": "capacity_"},
    "slot_core": {"count": "directory.size_", "first": "directory.first_", "segments": "directory.segments_"},
    "slot_map": {"entries": "table_.entries_", "slots": "table_.size_", "live": "table_.live_",
                 "retired": "table_.retired_", "capacity": "table_.capacity_", "max": "table_.max_slots_"},
    "entry": {"object": "object", "generation": "generation"},
}
# The core of an owner_heap has that of a local_heap inside.
MEMBERS["owned_heap_part"] = {
    meaning: path.replace("core_.", "core_.core_.") for meaning, path in MEMBERS["heap_part"].items()
}
