// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Distances between samples: the logarithm and the distribution.
#include "malloc/sampling.hpp"

#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

namespace {

using ashlar::drop_in::exponential;
using ashlar::drop_in::minus_log2;
using ashlar::drop_in::next_random;

TEST(exponential, the_logarithm_is_right_to_two_units) {
  std::uint32_t bits = 1;
  for (int turn = 0; turn < 10'000; ++turn, bits = next_random(bits))
    EXPECT_NEAR(minus_log2(bits), 65536 * (32 - std::log2(double{1} * bits)), 2) << bits;
  EXPECT_EQ(minus_log2(1), 32u << 16);
  EXPECT_EQ(minus_log2(0x8000'0000u), 1u << 16);
  EXPECT_LE(minus_log2(UINT32_MAX), 1u);
}

// The share of distances below `bound`, and their mean, against those of the distribution: five standard deviations.
void expect_distribution(std::uint32_t mean) {
  constexpr int draws = 200'000;
  const double bounds[] = {0.01, 0.1, 0.5, 1, 2, 5};
  int below[6] = {};
  double sum = 0;
  std::uint32_t bits = 2'463'534'242u;
  for (int turn = 0; turn < draws; ++turn) {
    bits = next_random(bits);
    const double distance = static_cast<double>(exponential(mean, bits)) / mean;
    sum += distance;
    for (int i = 0; i < 6; ++i) below[i] += distance < bounds[i] ? 1 : 0;
  }
  EXPECT_NEAR(sum / draws, 1, 5 / std::sqrt(double{draws}) + 1.0 / mean) << mean;
  for (int i = 0; i < 6; ++i) {
    const double share = 1 - std::exp(-bounds[i]);
    EXPECT_NEAR(double{1} * below[i] / draws, share, 5 * std::sqrt(share * (1 - share) / draws) + 1.0 / mean)
        << mean << " " << bounds[i];
  }
}

TEST(exponential, distances_have_the_distribution) {
  for (const std::uint32_t mean : {10'000u, 524'288u, 0x7fff'ffffu}) expect_distribution(mean);
}

}  // namespace
