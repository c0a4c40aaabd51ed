// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A life of a heap whose memory the next one may take over.
#pragma once

#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/support/heap_model.hpp"

namespace ashlar_test {

/// Effects: the life of a heap that allocates zeroes, writes to each, and leaves most live.
template <class Heap>
void dirty_life(std::size_t seed) {
  Heap heap;
  for (std::size_t i = 0; i < 12; ++i) {
    seed = seed * 1664525 + 1013904223;
    const std::size_t bytes = 40 * ((seed >> 8) % (i % 3 == 0 ? 5000 : 100) + 1);
    void* const p = heap.allocate_zeroed(bytes);
    ASSERT_TRUE(is_zero(static_cast<std::byte*>(p), bytes)) << bytes << " of life " << seed;
    std::memset(p, 0xA5, bytes);
    if (i % 4 == 0) heap.deallocate(p, bytes);  // the others are live at the end
  }
  EXPECT_TRUE(heap.invariant());
}

}  // namespace ashlar_test
