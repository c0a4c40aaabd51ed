// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that touching stays inside the block and detects writes of other code.
#include <ashlar/detail/replay/touch.hpp>

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::touch;

constexpr std::size_t sizes[] = {0, 1, 7, 8, 9, 63, 64, 65, 4096, 4097, 70000};

TEST(touch, writes_inside_the_block_only) {
  for (const std::size_t size : sizes) {
    std::vector<unsigned long long> words(size / 8 + 16, 0);
    auto* bytes = reinterpret_cast<unsigned char*>(words.data());
    touch::write(bytes, size, 0, ~0ull);
    for (std::size_t i = size; i < words.size() * 8; ++i) EXPECT_EQ(bytes[i], 0) << size;
    if (size != 0) {
      EXPECT_NE(bytes[0], 0);
      EXPECT_NE(bytes[size - 1], 0);
    }
  }
}

TEST(touch, grown_blocks_are_written_from_where_they_grew) {
  std::vector<unsigned long long> words(1024, 0);
  auto* bytes = reinterpret_cast<unsigned char*>(words.data());
  touch::write(bytes, 8192, 100, 1);
  for (std::size_t i = 8; i < 100; ++i) EXPECT_EQ(bytes[i], 0);
  EXPECT_EQ(bytes[100], 1);
  EXPECT_EQ(bytes[8191], 1);
}

TEST(touch, a_block_that_is_as_it_was_left_is_known_by_its_stamp) {
  for (const std::size_t size : sizes) {
    std::vector<unsigned long long> words(size / 8 + 16, 0);
    touch::write(words.data(), size, 0, 42);
    EXPECT_TRUE(touch::read_first(words.data(), size, 42));
    words[0] = 7;
    EXPECT_EQ(touch::read_first(words.data(), size, 42), size < 8);
  }
}

TEST(touch, memory_that_is_not_zero_is_noticed) {
  std::vector<unsigned long long> words(1024, 0);
  EXPECT_TRUE(touch::read_zeroed(words.data(), 8192, 1));
  EXPECT_FALSE(touch::read_zeroed(words.data(), 8192, 1)) << "the stamp is there";
}

}  // namespace
