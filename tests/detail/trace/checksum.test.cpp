// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the checksum against the published values of XXH64.
#include <ashlar/detail/trace/checksum.hpp>

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace {

std::uint64_t sum_of(std::string_view text) {
  return ashlar::detail::trace_io::checksum(std::as_bytes(std::span(text.data(), text.size())));
}

TEST(checksum, agrees_with_the_reference) {
  EXPECT_EQ(sum_of(""), 0xEF46DB3751D8E999U);
  EXPECT_EQ(sum_of("a"), 0xD24EC4F1A98C6E5BU);
  EXPECT_EQ(sum_of("abc"), 0x44BC2CF5AD770999U);
  EXPECT_EQ(sum_of("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1U);
}

TEST(checksum, sees_every_flipped_bit) {
  for (const std::size_t size : {1U, 7U, 8U, 31U, 32U, 33U, 100U}) {
    std::vector<std::byte> bytes(size, std::byte{0x5a});
    const auto whole = ashlar::detail::trace_io::checksum(bytes);
    for (std::size_t i = 0; i < size * 8; ++i) {
      bytes[i / 8] ^= static_cast<std::byte>(1U << (i % 8));
      EXPECT_NE(ashlar::detail::trace_io::checksum(bytes), whole) << size << " " << i;
      bytes[i / 8] ^= static_cast<std::byte>(1U << (i % 8));
    }
  }
}

}  // namespace
