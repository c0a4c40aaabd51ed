// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests `contains` of a block at its bounds.
#include <ashlar/base/resource.hpp>

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace {

using ashlar::block;

TEST(block, contains_its_bytes_and_no_others) {
  static char memory[100];
  const block b{memory + 10, 20};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(b.contains(memory + i), i >= 10 && i < 30) << i;
}

TEST(block, an_empty_block_contains_nothing) {
  static char memory[1];
  EXPECT_FALSE((block{memory, 0}).contains(memory));
  EXPECT_FALSE(block{}.contains(nullptr));
  EXPECT_FALSE(block{}.contains(memory));
}

TEST(block, contains_no_address_at_either_end_of_memory) {
  static char memory[8];
  const block b{memory, sizeof memory};
  EXPECT_FALSE(b.contains(nullptr));
  EXPECT_FALSE(b.contains(reinterpret_cast<void*>(std::numeric_limits<std::uintptr_t>::max())));
}

TEST(block, is_true_where_it_has_data) {
  static char memory[1];
  EXPECT_FALSE(block{});
  EXPECT_TRUE((block{memory, 0}));
}

TEST(block, is_equal_by_data_and_size) {
  static char memory[2];
  EXPECT_EQ((block{memory, 1}), (block{memory, 1}));
  EXPECT_NE((block{memory, 1}), (block{memory, 2}));
  EXPECT_NE((block{memory, 1}), (block{memory + 1, 1}));
}

}  // namespace
