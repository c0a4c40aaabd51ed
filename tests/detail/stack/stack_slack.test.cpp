// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the size of a block in a stack, and of the canary behind it.
#include <array>
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/detail/stack/stack_slack.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/poison.hpp>

#include "tests/support/death.hpp"

namespace {

using ashlar::detail::stack_grain;

constexpr std::size_t canary = ashlar::detail::stack_blocks_have_canaries ? 1 : 0;

TEST(stack_slack, a_block_takes_whole_grains_and_one_at_least) {
  EXPECT_EQ(ashlar::detail::stack_bytes(0), stack_grain);
  EXPECT_EQ(ashlar::detail::stack_bytes(1), stack_grain);
  EXPECT_EQ(ashlar::detail::stack_bytes(stack_grain - canary), stack_grain);
  EXPECT_EQ(ashlar::detail::stack_bytes(stack_grain - canary + 1), 2 * stack_grain);
}

TEST(stack_slack, a_block_fits_up_to_the_last_byte_and_no_sum_wraps) {
  EXPECT_TRUE(ashlar::detail::fits_stack(64, 0, 64 - canary));
  EXPECT_TRUE(ashlar::detail::fits_stack(64, 16, 48 - canary));
  EXPECT_FALSE(ashlar::detail::fits_stack(64, 16, 49 - canary));
  EXPECT_FALSE(ashlar::detail::fits_stack(0, 0, 0));
  EXPECT_FALSE(ashlar::detail::fits_stack(64, 80, 0));
  EXPECT_FALSE(ashlar::detail::fits_stack(64, 16, ashlar::detail::max_size));
  EXPECT_FALSE(ashlar::detail::fits_stack(64, ashlar::detail::max_size, ashlar::detail::max_size));
}

TEST(stack_slack_death, every_byte_behind_a_block_is_watched) {
  alignas(16) std::array<std::byte, 64> memory{};
  for (const std::size_t bytes : {0u, 1u, 15u, 16u, 31u}) {
    const std::size_t whole = ashlar::detail::stack_bytes(bytes);
    ashlar::detail::fill_stack_slack(memory.data(), bytes);
    ashlar::detail::expect_stack_slack(memory.data(), bytes, nullptr);
    for (std::size_t at = bytes; at < whole; ++at)
      ASHLAR_EXPECT_DEATH((ashlar::detail::mark_readable(&memory[at], 1), memory[at] ^= std::byte{1},
                           ashlar::detail::expect_stack_slack(memory.data(), bytes, nullptr)),
                          "ashlar: overflow: bytes past the end of a block were written to, pointer 0x*, expected " +
                              std::to_string(bytes) + ", got " + std::to_string(at + 1));
  }
  ashlar::detail::mark_live(memory.data(), memory.size());
}

}  // namespace
