// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of reports about cells that no look-up precedes.
#include <ashlar/detail/heap/cell_faults.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>

namespace {

namespace detail = ashlar::detail;

TEST(cell_faults, name_the_first_cell_of_a_mask) {
  detail::span_header slab{};
  alignas(16) std::byte cells[64 * 16];
  slab.cells = cells;
  slab.cell_bytes = 16;
  detail::expect_none_twice(slab, 0, 0, nullptr);
  EXPECT_DEATH(detail::expect_none_twice(slab, 0, 0b1000, &slab), "double_free: freed a block that is free");
}

TEST(cell_faults, find_a_corrupt_link) {
  detail::thread_cache cache;
  alignas(16) std::byte cell[64] = {};
  cache.push(3, cell);
  detail::expect_link(cell, 3, nullptr);
  if constexpr (!detail::thread_cache::seals_links) GTEST_SKIP() << "links have no seal";
  detail::mark_readable(cell, sizeof cell);
  const std::uintptr_t other = 1;
  std::memcpy(cell, &other, sizeof other);
  EXPECT_DEATH(detail::expect_link(cell, 3, cell), "corrupt_link");
}

}  // namespace
