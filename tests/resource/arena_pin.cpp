// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of the arena whose instructions arena_pin.sh counts.
#include <cstddef>

#include <ashlar/resource/arena.hpp>

using arena = ashlar::arena<>;

extern "C" void* arena_allocate_known(arena& from) { return from.allocate(24, 8); }
extern "C" void* arena_allocate_bytes(arena& from, std::size_t bytes) { return from.allocate(bytes, 1); }
extern "C" void arena_deallocate(arena& from, void* p) { from.deallocate(p, 24, 8); }
