// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the cells that a span header describes, and of new memory that is zero or becomes it.
#include <ashlar/detail/heap/span_header.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

namespace {

static_assert(sizeof(ashlar::detail::span_header) == 64 && alignof(ashlar::detail::span_header) == 64);

TEST(span_header, finds_its_cells) {
  alignas(64) std::byte memory[1024] = {};
  ashlar::detail::span_header slab{};
  slab.cells = memory + 64, slab.cell_bytes = 48, slab.capacity = 20;
  slab.by_cell = ashlar::detail::reciprocal(48);
  for (std::uint32_t i = 0; i < slab.capacity; ++i) {
    EXPECT_EQ(slab.index_of(slab.cell(i)), i);
    EXPECT_EQ(slab.index_of(slab.cell(i) + 47), i);
    EXPECT_TRUE(slab.is_cell(slab.cell(i)) && !slab.is_cell(slab.cell(i) + 16));
  }
  EXPECT_FALSE(slab.is_cell(memory)) << "before the first";
  EXPECT_FALSE(slab.is_cell(slab.cell(20))) << "after the last";
}

TEST(slice_run, is_cleared_unless_it_is_zero_or_nothing) {
  std::byte bytes[4] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  EXPECT_EQ(ashlar::detail::zeroed({bytes, true}, 4), bytes);
  EXPECT_EQ(bytes[0], std::byte{1}) << "not written to";
  EXPECT_EQ(ashlar::detail::zeroed({bytes, false}, 3), bytes);
  EXPECT_EQ(std::count(bytes, bytes + 4, std::byte{0}), 3);
  EXPECT_EQ(ashlar::detail::zeroed({}, 4), nullptr);
}

}  // namespace
