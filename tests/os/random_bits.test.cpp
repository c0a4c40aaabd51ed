// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of random words and of the coarse clock.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/os/random_bits.hpp>

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

TEST(random_bits, each_number_below_64_is_as_frequent) {
  ashlar::detail::random_bits numbers;
  std::array<int, 64> seen{}, after_same{};
  std::uint64_t last = 0;
  for (int i = 0; i < 64'000; ++i) {
    const std::uint64_t number = numbers.next_of_64();
    ASSERT_LT(number, 64u);
    ++seen[static_cast<std::size_t>(number)];
    if (i % 10 == 0) ++after_same[(number - last) % 64];  // across two words
    last = number;
  }
  for (const int times : seen) EXPECT_TRUE(times > 800 && times < 1200) << times;  // six standard deviations
  for (const int times : after_same) EXPECT_TRUE(times > 40 && times < 170) << times;
}

TEST(random_bits, begin_anew_with_an_epoch) {
  ashlar::detail::random_bits one, other;
  static_cast<void>(one.next_of_64());
  other = one;  // as in the child of a fork
  ashlar::detail::random_epoch::begin();
  EXPECT_FALSE(other.is_seeded());
  ashlar::detail::random_bits same = other;
  EXPECT_NE(other.next(), one.next());
  ashlar::detail::random_epoch::begin();
  EXPECT_NE(same.next(), other.next());
}

using ashlar::detail::coarse_ms;

TEST(coarse_clock, never_goes_back) {
  std::uint32_t last = coarse_ms();
  for (int i = 0; i < 100'000; ++i) {
    const std::uint32_t now = coarse_ms();
    ASSERT_LT(now - last, 60'000u);
    last = now;
  }
}

TEST(coarse_clock, keeps_up) {
  const auto precise_start =
      std::chrono::steady_clock::now();  // around the other: this thread may wait between any two
  const std::uint32_t start = coarse_ms();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::uint32_t passed = coarse_ms() - start;
  const auto precise = std::chrono::steady_clock::now() - precise_start;
  EXPECT_GE(passed, 80u);
  EXPECT_LE(passed, std::chrono::duration_cast<std::chrono::milliseconds>(precise).count() + 20);
}

}  // namespace
