// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of a chunk with its header at the end.
#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/detail/stack/chunk.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace {

using ashlar::detail::chunk;

TEST(chunk, starts_where_its_memory_starts_and_keeps_its_book_at_the_end) {
  alignas(64) std::array<std::byte, 512> memory;
  chunk* const made = chunk::build(memory.data(), 512, 64);
  EXPECT_EQ(made->begin, memory.data());
  EXPECT_EQ(made->bytes, 512u);
  EXPECT_EQ(made->alignment, 64u);
  EXPECT_EQ(static_cast<void*>(made->end()), made);
  EXPECT_EQ(made->usable(), 512 - sizeof(chunk));
  ashlar::detail::mark_live(memory.data(), memory.size());
}

TEST(chunk, holds_a_block_of_the_size_it_was_made_for_at_its_own_alignment) {
  alignas(64) std::array<std::byte, 512> memory;
  for (std::size_t size = 0; size < 300; ++size) {
    const std::size_t bytes = chunk::bytes_for(size);
    EXPECT_EQ(bytes % alignof(chunk), 0u);
    const chunk* const made = chunk::build(memory.data(), bytes, 64);
    EXPECT_TRUE(made->can_hold(size, 64));
    EXPECT_FALSE(made->can_hold(size + alignof(chunk) + 1, 1));
    EXPECT_FALSE(made->can_hold(ashlar::detail::max_size, 1));
    ashlar::detail::mark_live(memory.data(), memory.size());
  }
}

TEST(chunk, counts_the_padding_that_its_start_needs) {
  alignas(64) std::array<std::byte, 512> memory;
  const chunk* const made = chunk::build(memory.data() + 32, 480, 32);
  EXPECT_TRUE(made->can_hold(made->usable() - 32, 64));
  EXPECT_FALSE(made->can_hold(made->usable() - 31, 64));
  EXPECT_FALSE(made->can_hold(0, std::size_t{1} << (sizeof(std::size_t) * 8 - 1)));
  ashlar::detail::mark_live(memory.data(), memory.size());
}

}  // namespace
