// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The use of blocks in tests of a heap's threads: each has its oracle, every second is freed by its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

#include <gtest/gtest.h>

#include <ashlar/heap/heap.hpp>

#include "tests/support/stamped_block.hpp"

namespace ashlar_test {

/// Returns: a size, usually of a cell, seldom of a span.
inline std::size_t any_size(std::mt19937& random) {
  return random() % 64 == 0 ? 33'000 + random() % 100'000 : 1 + random() % 600;
}

/// Returns: a size of any kind, usually of a cell, seldom of a huge block.
inline std::size_t size_of_any_kind(std::mt19937& random) {
  const auto kind = random() % 256;
  if (kind < 200) return 1 + random() % 600;
  if (kind < 254) return 1 + random() % 12'000;
  return kind == 254 ? 40'000 + random() % 300'000 : std::size_t{5} << 20;
}

inline stamped_block make(ashlar::heap<>& all, std::size_t bytes, std::uint64_t stamp) {
  const stamped_block made{all.allocate(bytes), bytes, stamp};
  made.write();
  return made;
}

inline void free(ashlar::heap<>& all, const stamped_block& block) {
  ASSERT_TRUE(block.is_intact());
  block.stamp % 2 == 0 ? all.deallocate(block.p) : all.deallocate(block.p, block.bytes);
}

/// Returns: whether all memory goes back, so that every cache is empty.
inline bool goes_back(ashlar::heap<>& all) {
  static_cast<void>(all.trim());
  return all.invariant() && all.held_bytes() == 0;
}

}  // namespace ashlar_test
