// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that two groups of runs are named, and that noise of one group is not.
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "cli/rounds/modes.hpp"

namespace {

using namespace ashlar::cli;

/// Returns: times around 100, of which `share` are `apart` times as long.
std::vector<double> times(std::size_t n, double share, double apart, std::mt19937_64& random) {
  std::normal_distribution<> noise(0, 0.02);
  std::bernoulli_distribution is_high(share);
  std::vector<double> all(n);
  for (double& t : all) t = 100 * std::exp(noise(random)) * (is_high(random) ? apart : 1);
  return all;
}

int named(std::size_t n, double share, double apart) {
  std::mt19937_64 random(1);
  int found = 0;
  for (int i = 0; i < 200; ++i) found += modes_of(times(n, share, apart, random)) ? 1 : 0;
  return found;
}

TEST(modes, of_noise_are_one) {
  for (const std::size_t n : {12U, 20U, 40U, 100U}) EXPECT_LE(named(n, 0, 1), 4) << n;
}

TEST(modes, ten_deviations_apart_are_named) {
  for (const std::size_t n : {12U, 20U, 40U, 100U}) EXPECT_GE(named(n, 0.5, std::exp(0.2)), 185) << n;
  EXPECT_GE(named(40, 0.3, std::exp(0.2)), 180);
}

TEST(modes, one_slow_run_or_two_are_no_mode) {
  std::vector<double> all(20, 100);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] += static_cast<double>(i) / 10;
  all[3] = all[8] = 200;
  EXPECT_FALSE(modes_of(all));
  all[11] = all[12] = 201;
  const auto found = modes_of(all);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->low.runs, 16U);
  EXPECT_EQ(found->high.runs, 4U);
  EXPECT_NEAR(found->high.centre, 200.5, 0.1);
}

TEST(modes, of_few_or_equal_or_zero_values_are_none) {
  EXPECT_FALSE(modes_of({}));
  EXPECT_FALSE(modes_of({1, 1, 1, 2, 2, 2}));
  EXPECT_FALSE(modes_of(std::vector<double>(30, 7)));
  EXPECT_FALSE(modes_of(std::vector<double>(30, 0)));
}

}  // namespace
