// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of guards: each byte of them counts, and the damage is measured up to the last changed byte.
#include <ashlar/detail/slab/cell_guard.hpp>

#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/detail/support/poison.hpp>

namespace {

static_assert(ashlar::detail::has_guards == (ashlar::detail::least_guard != 0), "one byte at least, or none");
static_assert(ashlar::detail::has_guards || (ashlar::detail::front_guard == 0 && ashlar::detail::cell_bitmaps == 1),
              "nothing below hardened");

TEST(cell_guard, every_byte_counts) {
  std::array<unsigned char, 64> memory{};
  for (const std::size_t bytes : {1u, 7u, 16u, 48u}) {
    ashlar::detail::fill_guard(memory.data() + 8, bytes);
    EXPECT_TRUE(ashlar::detail::is_guard_intact(memory.data() + 8, bytes));
    for (std::size_t at = 0; at < bytes; ++at) {
      ashlar::detail::mark_readable(memory.data(), memory.size());
      memory[8 + at] ^= 1;
      EXPECT_FALSE(ashlar::detail::is_guard_intact(memory.data() + 8, bytes));
      EXPECT_EQ(ashlar::detail::guard_damage(memory.data() + 8, bytes), at + 1);
      memory[8 + at] ^= 1;
    }
    EXPECT_EQ(ashlar::detail::guard_damage(memory.data() + 8, bytes), 0u);
    ashlar::detail::mark_readable(memory.data(), memory.size());
    EXPECT_EQ(memory[7], 0);
    memory.fill(0);
  }
}

}  // namespace
