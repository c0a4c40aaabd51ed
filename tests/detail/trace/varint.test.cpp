// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of varints, words, zigzag and the cursor that reads them.
#include <ashlar/detail/trace/varint.hpp>

#include <array>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace ashlar::detail::trace_io;

std::vector<std::byte> varint_of(std::uint64_t value) {
  std::vector<std::byte> bytes(max_varint_bytes);
  bytes.resize(static_cast<std::size_t>(put_varint(bytes.data(), value) - bytes.data()));
  return bytes;
}

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int v : values) bytes.push_back(static_cast<std::byte>(v));
  return bytes;
}

TEST(varint, every_length_round_trips) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t nearby : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      const std::uint64_t value = (std::uint64_t{1} << bit) + nearby;
      const auto bytes = varint_of(value);
      byte_cursor cursor(bytes);
      EXPECT_EQ(cursor.varint(), value);
      EXPECT_TRUE(cursor.ok() && cursor.at_end());
      EXPECT_EQ(bytes.size(), value == 0 ? 1U : (static_cast<unsigned>(std::bit_width(value)) + 6U) / 7U);
    }
  }
}

TEST(varint, is_known_at_compile_time) {
  constexpr auto encoded = [] {
    std::array<std::byte, max_varint_bytes> to{};
    put_varint(to.data(), 300);
    return to;
  }();
  static_assert(encoded[0] == std::byte{0xac} && encoded[1] == std::byte{0x02});
}

TEST(varint, overlong_spellings_are_refused) {
  for (const auto& bytes : {bytes_of({0x80, 0x00}), bytes_of({0x81, 0x80, 0x00}), bytes_of({0xff, 0x00})}) {
    byte_cursor cursor(bytes);
    EXPECT_EQ(cursor.varint(), 0U);
    EXPECT_FALSE(cursor.ok());
  }
}

TEST(varint, what_does_not_fit_64_bits_is_refused) {
  std::vector<std::byte> bytes(9, std::byte{0xff});
  bytes.push_back(std::byte{0x01});
  EXPECT_EQ(byte_cursor(bytes).varint(), std::numeric_limits<std::uint64_t>::max());
  bytes.back() = std::byte{0x02};
  byte_cursor tenth(bytes);
  EXPECT_TRUE(tenth.varint() == 0 && !tenth.ok());
  bytes.back() = std::byte{0x81};
  bytes.push_back(std::byte{0x00});
  byte_cursor eleven(bytes);
  EXPECT_TRUE(eleven.varint() == 0 && !eleven.ok());
}

TEST(varint, a_cut_varint_is_refused_and_failure_lasts) {
  const auto bytes = bytes_of({0x80});
  byte_cursor cursor(bytes);
  EXPECT_EQ(cursor.varint(), 0U);
  EXPECT_FALSE(cursor.ok());
  EXPECT_EQ(cursor.byte(), 0U);
  EXPECT_EQ(cursor.word(), 0U);
  EXPECT_TRUE(cursor.at_end());
}

TEST(varint, bytes_never_reach_past_the_end) {
  const auto bytes = bytes_of({1, 2, 3});
  byte_cursor cursor(bytes);
  EXPECT_EQ(cursor.bytes(2).size(), 2U);
  EXPECT_TRUE(cursor.bytes(std::uint64_t{1} << 63).empty());
  EXPECT_FALSE(cursor.ok());
}

TEST(varint, zigzag_keeps_small_differences_small) {
  EXPECT_EQ(zigzag(0), 0U);
  EXPECT_EQ(zigzag(0 - std::uint64_t{1}), 1U);
  EXPECT_EQ(zigzag(1), 2U);
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t value = std::uint64_t{1} << bit;
    EXPECT_EQ(unzigzag(zigzag(value)), value);
    EXPECT_EQ(unzigzag(zigzag(0 - value)), 0 - value);
  }
}

TEST(varint, words_are_little_endian) {
  std::array<std::byte, 4> to{};
  put_word(to.data(), std::uint32_t{0x01020304});
  EXPECT_EQ(to[0], std::byte{4});
  EXPECT_EQ(to[3], std::byte{1});
  EXPECT_EQ(get_word<std::uint32_t>(to.data()), 0x01020304U);
}

}  // namespace
