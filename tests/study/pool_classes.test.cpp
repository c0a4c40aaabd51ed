// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that every size has the smallest class with room for it.
#include <ashlar/study/pool_classes.hpp>

#include <cstddef>

#include <gtest/gtest.h>

namespace {

using ashlar::study::pool_classes;

TEST(pool_classes, every_size_has_the_smallest_class_with_room) {
  for (std::size_t bytes = 0; bytes <= pool_classes::largest; ++bytes) {
    const std::size_t index = pool_classes::of(bytes);
    ASSERT_LT(index, pool_classes::count);
    EXPECT_GE(pool_classes::cell_bytes(index), bytes);
    if (index != 0) EXPECT_LT(pool_classes::cell_bytes(index - 1), bytes);
  }
  EXPECT_EQ(pool_classes::cell_bytes(pool_classes::count - 1), pool_classes::largest);
}

TEST(pool_classes, little_is_wasted) {
  for (std::size_t bytes = 1; bytes <= pool_classes::largest; ++bytes) {
    const std::size_t waste = pool_classes::cell_bytes(pool_classes::of(bytes)) - bytes;
    EXPECT_TRUE(waste <= 7 || waste * 8 <= pool_classes::cell_bytes(pool_classes::of(bytes))) << bytes;
  }
}

TEST(pool_classes, cells_are_as_aligned_as_their_sizes) {
  for (std::size_t i = 0; i < pool_classes::count; ++i) {
    EXPECT_EQ(pool_classes::cell_bytes(i) % 8, 0u);
    if (pool_classes::cell_bytes(i) > 128) EXPECT_EQ(pool_classes::cell_bytes(i) % 16, 0u);
  }
}

}  // namespace
