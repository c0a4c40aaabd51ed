// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls whose machine code object_pool_pin.sh counts.
#include <cstddef>

#include <ashlar/face/object_pool.hpp>

struct object {
  std::byte bytes[64];
  object() noexcept {}  // NOLINT(modernize-use-equals-default): leaves the bytes as they are
};

using inside = ashlar::object_pool<object, ashlar::with_capacity<1000>>;
using in_a_block = ashlar::object_pool<object>;

extern "C" object* acquire_inside(inside& pool) { return pool.acquire(); }
extern "C" void release_inside(inside& pool, object* p) { pool.release(p); }
extern "C" object* acquire_in_a_block(in_a_block& pool) { return pool.acquire(); }
extern "C" void release_in_a_block(in_a_block& pool, object* p) { pool.release(p); }
