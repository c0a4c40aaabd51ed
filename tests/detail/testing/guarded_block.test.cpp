// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that a block between guards detects writes beside it.
#include <ashlar/detail/testing/guarded_block.hpp>

#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace {

using ashlar::detail::guarded_block;

// A forbidden write, made so that sanitizers do not see it.
void spoil(std::byte* p) {
  ashlar::detail::mark_readable(p, 1);
  *p ^= std::byte{1};
}

TEST(guarded_block, is_aligned_and_filled_with_a_pattern) {
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2)
    for (const std::size_t bytes : {0u, 1u, 13u, 64u, 1000u}) {
      const guarded_block made = guarded_block::make(bytes, alignment);
      EXPECT_TRUE(ashlar::detail::is_aligned(made.data, alignment));
      for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(made.data[i], std::byte{0xCD});
      EXPECT_TRUE(made.has_intact_guards());
      made.retire();
      EXPECT_TRUE(made.is_untouched());
      made.end();
    }
}

TEST(guarded_block, notices_a_write_just_beside_it) {
  for (const int offset : {-16, -1, 24, 39}) {
    const guarded_block made = guarded_block::make(24, 8);
    spoil(made.data + offset);
    EXPECT_FALSE(made.has_intact_guards()) << offset;
    made.end();
  }
}

TEST(guarded_block, notices_a_write_after_its_end) {
  for (const std::size_t offset : {0u, 12u, 23u}) {
    const guarded_block made = guarded_block::make(24, 8);
    made.retire();
    spoil(made.data + offset);
    EXPECT_FALSE(made.is_untouched());
    made.end();
  }
}

}  // namespace
