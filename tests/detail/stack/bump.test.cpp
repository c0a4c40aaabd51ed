// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the bump pointer.
#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/detail/stack/bump.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace {

using ashlar::detail::bump;

alignas(64) std::array<std::byte, 256> memory;

bump over(std::size_t skip, std::size_t bytes) { return {memory.data() + skip, memory.data() + skip + bytes}; }

// Returns: the block, or null, with numbers unknown to the compiler.
void* take(bump& from, std::size_t bytes, std::size_t alignment) {
  volatile std::size_t unknown_bytes = bytes;
  volatile std::size_t unknown_alignment = alignment;
  const std::size_t size = unknown_bytes;
  const bump::place at = from.place_for(size, unknown_alignment);
  return at.is_free ? from.take(at, size) : nullptr;
}

TEST(bump, hands_out_every_byte_and_no_more) {
  bump all = over(0, 100);
  EXPECT_EQ(take(all, 60, 1), memory.data());
  EXPECT_EQ(take(all, 41, 1), nullptr);
  EXPECT_EQ(take(all, 40, 1), memory.data() + 60);
  EXPECT_EQ(all.rest(), 0u);
  EXPECT_EQ(take(all, 0, 1), nullptr);  // a block of 0 bytes takes one byte
  EXPECT_TRUE(all.invariant());
}

TEST(bump, agrees_for_constant_and_variable_numbers) {
  for (std::size_t skip = 0; skip < 16; ++skip)
    for (std::size_t bytes = 0; bytes < 64; ++bytes) {
      bump of_known = over(skip, bytes), of_unknown = over(skip, bytes);
      const bump::place at = of_known.place_for(24, 16);
      EXPECT_EQ(at.is_free ? of_known.take(at, 24) : nullptr, take(of_unknown, 24, 16));
      EXPECT_EQ(of_known.top(), of_unknown.top());
    }
}

// Against arithmetic that cannot wrap, for sizes at every border, unknown to the compiler.
TEST(bump, refuses_requests_that_do_not_fit_for_any_numbers) {
  constexpr std::size_t top_bit = ~(ashlar::detail::max_size >> 1);
  const std::size_t sizes[] = {0,
                               1,
                               7,
                               100,
                               101,
                               ashlar::detail::max_block_bytes,
                               top_bit,
                               ashlar::detail::max_size - 63,
                               ashlar::detail::max_size};
  for (std::size_t alignment = 1; alignment != 0; alignment *= 2)
    for (const std::size_t bytes : sizes)
      for (std::size_t skip = 0; skip < 64; skip += 9) {
        bump some = over(skip, 100);
        const std::size_t past = ashlar::detail::address_of(some.top()) % alignment;
        const std::size_t padding = past != 0 ? alignment - past : 0;
        const bool fits = padding <= 100 && (bytes != 0 ? bytes : 1) <= 100 - padding;
        EXPECT_EQ(take(some, bytes, alignment) != nullptr, fits) << bytes << " at " << alignment;
      }
}

TEST(bump, refuses_alignments_that_are_none) {
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{24}, ashlar::detail::max_size}) {
    bump some = over(0, 100);
    EXPECT_EQ(take(some, 1, alignment), nullptr);
    EXPECT_EQ(some.top(), memory.data());
  }
}

// Constants take another path.
TEST(bump, refuses_known_alignments_that_are_none) {
  bump some = over(0, 100);
  EXPECT_FALSE(some.place_for(1, 0).is_free);
  EXPECT_FALSE(some.place_for(16, 3).is_free);
  EXPECT_FALSE(some.place_for(16, 24).is_free);
  EXPECT_TRUE(some.place_for(16, 16).is_free);
}

TEST(bump, without_memory_has_nothing) {
  bump none;
  EXPECT_EQ(take(none, 0, 1), nullptr);
  EXPECT_EQ(take(none, 8, 4096), nullptr);
  EXPECT_FALSE(none.place_for(8, 8).is_free);
}

TEST(bump, resizes_and_takes_back_the_last_block_only) {
  bump some = over(0, 64);
  void* const first = take(some, 16, 16);
  void* const last = take(some, 16, 16);
  EXPECT_FALSE(some.is_last(first, 16));
  ASSERT_TRUE(some.is_last(last, 16));
  EXPECT_FALSE(some.resize_last(last, 16, 49));
  EXPECT_FALSE(some.resize_last(last, 16, ashlar::detail::max_size));
  EXPECT_TRUE(some.resize_last(last, 16, 48));
  EXPECT_EQ(some.rest(), 0u);
  EXPECT_TRUE(some.resize_last(last, 48, 0));
  EXPECT_EQ(some.rest(), 47u);
  some.take_back(last, 0);
  EXPECT_EQ(take(some, 16, 16), last);
  some.rewind(memory.data());
  EXPECT_EQ(take(some, 16, 16), first);
}

}  // namespace
