// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Order of a cell batch: each cell once, the first cell last.
#include <array>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/detail/slab/cell_batch.hpp>

namespace {

using ashlar::detail::cell_batch;

constexpr std::size_t cell_bytes = 48;

TEST(cell_batch_test, hands_out_each_cell_once_and_the_first_last) {
  alignas(64) std::array<std::byte, 64 * cell_bytes> memory;
  cell_batch batch{memory.data(), std::uint64_t{0b1011'0001} | std::uint64_t{1} << 63};
  for (const std::size_t expected : {4u, 5u, 7u, 63u, 0u}) {
    std::byte* const next = batch.next(cell_bytes);
    EXPECT_EQ(next, memory.data() + expected * cell_bytes);
    EXPECT_EQ(batch.take(cell_bytes), next);
  }
  EXPECT_EQ(batch.mask, 0u);
}

TEST(cell_batch_test, a_prefetch_takes_nothing) {
  alignas(64) std::array<std::byte, 64 * cell_bytes> memory;
  const cell_batch batch{memory.data(), ~std::uint64_t{0}};
  batch.fetch_ahead(cell_bytes, 7);
  EXPECT_EQ(batch.mask, ~std::uint64_t{0});
  EXPECT_EQ(batch.next(cell_bytes), memory.data() + cell_bytes);
}

TEST(cell_batch_test, has_the_cells_of_its_mask) {
  alignas(64) std::array<std::byte, 70 * cell_bytes> memory;
  const cell_batch batch{memory.data(), std::uint64_t{0b101} | std::uint64_t{1} << 63};
  for (std::size_t i = 0; i < 70; ++i)
    EXPECT_EQ(batch.has(memory.data() + i * cell_bytes, cell_bytes), i == 0 || i == 2 || i == 63) << i;
  EXPECT_FALSE(batch.has(memory.data() - cell_bytes, cell_bytes));
}

TEST(gathered_cells_test, takes_the_cells_of_one_word_once_each) {
  alignas(64) std::array<std::byte, 66 * cell_bytes> memory;
  std::byte* const base = memory.data() + cell_bytes;
  ashlar::detail::gathered_cells<const char> cells{
      "home", 3, 40 * cell_bytes, ashlar::detail::reciprocal(cell_bytes), {base, std::uint64_t{1} << 7}};
  EXPECT_TRUE(cells.add(base + 8 * cell_bytes));
  EXPECT_TRUE(cells.add(base));
  EXPECT_TRUE(cells.add(base + 39 * cell_bytes));
  EXPECT_FALSE(cells.add(base + 7 * cell_bytes)) << "the first one";
  EXPECT_FALSE(cells.add(base)) << "twice";
  EXPECT_FALSE(cells.add(base + 40 * cell_bytes)) << "behind the word";
  EXPECT_FALSE(cells.add(base - cell_bytes)) << "before the word";
  EXPECT_EQ(cells.batch.mask, std::uint64_t{0b1'1000'0001} | std::uint64_t{1} << 39);
}

}  // namespace
