// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of random words: two sequences differ, each bit is set in half of the words, and the secret stays the same.
#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/detail/system/random_bits.hpp>

namespace {

TEST(random_bits, each_bit_is_set_in_about_half_of_the_words) {
  ashlar::detail::random_bits words, others;
  std::array<int, 64> set{};
  int alike = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t word = words.next();
    alike += word == others.next() ? 1 : 0;
    for (std::size_t bit = 0; bit < 64; ++bit) set[bit] += static_cast<int>((word >> bit) & 1);
  }
  EXPECT_EQ(alike, 0);
  for (const int times : set) EXPECT_TRUE(times > 4700 && times < 5300) << times;  // six standard deviations
}

TEST(random_bits, the_secret_of_a_process_stays_the_same) {
  EXPECT_EQ(ashlar::detail::process_secret(), ashlar::detail::process_secret());
  EXPECT_NE(ashlar::detail::process_secret(), 0u);
}

}  // namespace
