// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that every size has the smallest class with room for it.
#include <ashlar/detail/replay/replay_classes.hpp>

#include <cstddef>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::replay_classes;

TEST(replay_classes, every_size_has_the_smallest_class_with_room) {
  for (std::size_t bytes = 0; bytes <= replay_classes::largest; ++bytes) {
    const std::size_t index = replay_classes::of(bytes);
    ASSERT_LT(index, replay_classes::count);
    EXPECT_GE(replay_classes::cell_bytes(index), bytes);
    if (index != 0) {
      EXPECT_LT(replay_classes::cell_bytes(index - 1), bytes);
    }
  }
  EXPECT_EQ(replay_classes::cell_bytes(replay_classes::count - 1), replay_classes::largest);
}

TEST(replay_classes, little_is_wasted) {
  for (std::size_t bytes = 1; bytes <= replay_classes::largest; ++bytes) {
    const std::size_t waste = replay_classes::cell_bytes(replay_classes::of(bytes)) - bytes;
    EXPECT_TRUE(waste <= 7 || waste * 8 <= replay_classes::cell_bytes(replay_classes::of(bytes))) << bytes;
  }
}

TEST(replay_classes, cells_are_as_aligned_as_their_sizes) {
  for (std::size_t i = 0; i < replay_classes::count; ++i) {
    EXPECT_EQ(replay_classes::cell_bytes(i) % 8, 0u);
    if (replay_classes::cell_bytes(i) > 128) {
      EXPECT_EQ(replay_classes::cell_bytes(i) % 16, 0u);
    }
  }
}

}  // namespace
