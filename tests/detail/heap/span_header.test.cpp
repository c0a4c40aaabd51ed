// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the cells that a span header describes.
#include <ashlar/detail/heap/span_header.hpp>

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
  EXPECT_EQ(slab.words(), 1u);
  for (std::uint32_t i = 0; i < slab.capacity; ++i) {
    EXPECT_EQ(slab.index_of(slab.cell(i)), i);
    EXPECT_EQ(slab.index_of(slab.cell(i) + 47), i);
    EXPECT_TRUE(slab.is_cell(slab.cell(i)) && !slab.is_cell(slab.cell(i) + 16));
  }
  EXPECT_FALSE(slab.is_cell(memory)) << "before the first";
  EXPECT_FALSE(slab.is_cell(slab.cell(20))) << "after the last";
}

}  // namespace
