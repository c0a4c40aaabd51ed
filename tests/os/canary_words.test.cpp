// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of canary words: neighbours differ, no byte ends a text, and pieces are the bytes of their addresses.
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

#include <ashlar/os/random_bits.hpp>

namespace {

using ashlar::detail::canary_secret;

TEST(canary_words, differ_at_each_address) {
  std::set<std::uint64_t> words;
  for (std::uintptr_t i = 0; i < 1000; ++i) words.insert(canary_secret::word(0x7000'0000 + 8 * i));
  EXPECT_EQ(words.size(), 1000u);
}

TEST(canary_words, have_no_byte_that_ends_a_text_and_none_that_is_frequent) {
  alignas(8) std::array<std::byte, 8192> memory{};
  std::array<int, 256> seen{};
  for (const std::byte& each : memory) ++seen[canary_secret::byte(&each)];
  EXPECT_EQ(seen[0], 0);
  for (const int times : seen) EXPECT_LT(times, 640);  // of 64, as half of the values are odd
}

TEST(canary_words, come_in_pieces_of_their_addresses) {
  alignas(8) std::array<std::byte, 64> memory{};
  for (std::size_t first = 0; first < 16; ++first)
    for (std::size_t last = first; last < memory.size(); ++last) {
      std::byte* at = memory.data() + first;
      ashlar::detail::for_each_canary(at, memory.data() + last,
                                      [&](std::byte* piece, const unsigned char* canary, std::size_t count) {
                                        ASSERT_EQ(piece, at);
                                        for (std::size_t i = 0; i < count; ++i)
                                          ASSERT_EQ(canary[i], canary_secret::byte(piece + i));
                                        at += count;
                                      });
      ASSERT_EQ(at, memory.data() + last);
    }
}

}  // namespace
