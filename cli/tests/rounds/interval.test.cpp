// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the interval of the sign test against printed tables, and of its coverage on simulated rounds.
#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "cli/rounds/comparison.hpp"
#include "cli/rounds/effect.hpp"
#include "cli/rounds/interval.hpp"
#include "cli/rounds/rounds.hpp"

namespace {

using namespace ashlar::cli;

/// Ranks of the interval of a median in tables (two-sided; Conover, Practical Nonparametric Statistics, and the tables
/// of the sign test: critical value + 1).
TEST(sign_interval, has_the_ranks_of_the_tables) {
  struct entry {
    std::size_t n, at_95, at_99;
  };
  for (const auto& [n, at_95, at_99] : {entry{5, 0, 0},
                                        {6, 1, 0},
                                        {7, 1, 0},
                                        {8, 1, 1},
                                        {9, 2, 1},
                                        {10, 2, 1},
                                        {12, 3, 2},
                                        {15, 4, 3},
                                        {17, 5, 3},
                                        {20, 6, 4},
                                        {25, 8, 6},
                                        {30, 10, 8},
                                        {40, 14, 12},
                                        {50, 18, 16},
                                        {100, 40, 37}}) {
    EXPECT_EQ(sign_rank(n, 0.05), at_95) << n;
    EXPECT_EQ(sign_rank(n, 0.01), at_99) << n;
  }
}

TEST(sign_interval, needs_as_many_rounds_as_all_on_one_side_take) {
  for (const double error : {0.05, 0.01, 0.05 / 24, 0.05 / 48, 1e-6}) {
    EXPECT_EQ(sign_rank(least_rounds(error) - 1, error), 0U) << error;
    EXPECT_EQ(sign_rank(least_rounds(error), error), 1U) << error;
  }
  EXPECT_EQ(least_rounds(0.05), 6U);
  EXPECT_EQ(least_rounds(0.01), 8U);
  EXPECT_GT(sign_rank(1000, 1e-9), 300U);
}

TEST(sign_interval, of_too_few_values_is_unbounded) {
  EXPECT_FALSE(interval_of({1, 2, 3, 4, 5}, 0.05).bounded());
  const median_interval six = interval_of({6, 5, 4, 3, 2, 1}, 0.05);
  EXPECT_EQ(six.least, 1);
  EXPECT_EQ(six.median, 3.5);
  EXPECT_EQ(six.greatest, 6);
  EXPECT_EQ(median_of({}), 0);
}

/// Returns: the number of `trials` in which the interval of `n` draws contained `median`.
template <class Draw>
double coverage(std::size_t n, double error, double median, Draw draw) {
  constexpr int trials = 8000;
  int held = 0;
  for (int i = 0; i < trials; ++i) {
    std::vector<double> values(n);
    for (double& v : values) v = draw();
    const median_interval found = interval_of(values, error);
    held += found.least <= median && median <= found.greatest ? 1 : 0;
  }
  return static_cast<double>(held) / trials;
}

/// Exact for symmetric and skewed noise, and for noise with heavy tails as on a busy machine.
TEST(sign_interval, covers_at_its_level_for_any_noise) {
  std::mt19937_64 random(1);
  std::normal_distribution<> normal(0, 0.1);
  std::exponential_distribution<> exponential(1);
  std::cauchy_distribution<> cauchy(0, 1);
  struct entry {
    std::size_t n;
    double exact;  // 1 - 2 P(B < k)
  };
  for (const auto& [n, exact] : {entry{6, 0.96875}, {10, 0.978516}, {20, 0.958611}, {50, 0.967157}}) {
    EXPECT_NEAR(coverage(n, 0.05, 1, [&] { return std::exp(normal(random)); }), exact, 0.008) << n;
    EXPECT_NEAR(coverage(n, 0.05, std::log(2), [&] { return exponential(random); }), exact, 0.008) << n;
    EXPECT_NEAR(coverage(n, 0.05, 0, [&] { return cauchy(random); }), exact, 0.008) << n;
  }
}

std::vector<double> scaled(std::vector<double> values, double by) {
  for (double& v : values) v *= by;
  return values;
}

constexpr practical_threshold two_percent{.share = 0.02};

TEST(paired_comparison, sees_through_spells_that_both_go_through) {
  const std::vector<double> base = {10, 30, 11, 55, 10, 12, 90, 10, 11, 10};
  const paired_comparison c = compare(base, scaled(base, 0.9), two_percent, 0.01);
  EXPECT_EQ(c.found, finding::gain);
  EXPECT_NEAR(c.ratio.greatest, 0.9, 1e-9);
  EXPECT_EQ(compare(base, scaled(base, 1.1), two_percent, 0.01).found, finding::loss);
  EXPECT_EQ(compare(base, scaled(base, 0.99), two_percent, 0.01).found, finding::level);
  EXPECT_EQ(compare(base, base, two_percent, 0.01).found, finding::level);
}

TEST(paired_comparison, does_not_decide_from_too_few_rounds_and_gives_the_number_needed) {
  const std::vector<double> base(5, 10.0);
  const paired_comparison c = compare(base, scaled(base, 0.5), two_percent, 0.01);
  EXPECT_EQ(c.found, finding::undecided);
  EXPECT_EQ(c.rounds_wanted, 8U);
}

TEST(paired_comparison, what_is_too_small_in_its_unit_is_level) {
  const std::vector<double> base(10, 1000.0), own(10, 900.0);
  EXPECT_EQ(compare(base, own, {.share = 0.05, .absolute = 256}, 0.01).found, finding::level);
  EXPECT_EQ(compare(base, own, {.share = 0.05, .absolute = 64}, 0.01).found, finding::gain);
  EXPECT_EQ(compare(std::vector<double>(10, 0.0), base, {.share = 0.05, .absolute = 64}, 0.01).found, finding::loss);
}

/// The estimate of further rounds is about right, in simulated noise.
TEST(paired_comparison, its_estimate_of_further_rounds_is_of_the_right_size) {
  std::mt19937_64 random(1);
  std::normal_distribution<> noise(std::log(0.96), 0.08);
  const auto rounds = [&](std::size_t n) {
    std::vector<double> own(n);
    for (double& v : own) v = std::exp(noise(random));
    return compare(std::vector<double>(n, 1.0), own, two_percent, 0.01);
  };
  std::vector<double> wanted;
  for (int i = 0; i < 200; ++i) {
    const paired_comparison c = rounds(12);
    if (c.found == finding::undecided) wanted.push_back(static_cast<double>(c.rounds_wanted));
  }
  const auto typical = static_cast<std::size_t>(median_of(wanted));
  EXPECT_GT(typical, 20U);
  EXPECT_LT(typical, 200U);
  int decided = 0;
  for (int i = 0; i < 200; ++i) decided += rounds(2 * typical).found != finding::undecided ? 1 : 0;
  EXPECT_GT(decided, 100);
}

TEST(paired_rounds, stop_as_soon_as_they_are_decided) {
  std::size_t calls = 0;
  const rounds_played done = play_rounds(
      {.rounds = 0, .seconds = 1e6}, 24, [&](std::size_t r) { EXPECT_EQ(r, calls++); },
      [](double error) { return error > 0; });
  EXPECT_EQ(done.rounds, look_schedule(24).next());
  EXPECT_EQ(done.rounds, 11U);  // 2 / 2^11 < 0.05 / 2 / 24 < 2 / 2^10
  EXPECT_EQ(calls, done.rounds);
}

TEST(paired_rounds, each_look_has_half_the_error_of_the_last_and_comes_after_twice_the_rounds) {
  std::vector<double> errors;
  const rounds_played done = play_rounds(
      {.rounds = 0, .seconds = 1e6}, 4, [](std::size_t) {},
      [&](double error) { return errors.push_back(error), errors.size() == 3; });
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_DOUBLE_EQ(errors[0], family_error / 8);
  EXPECT_DOUBLE_EQ(errors[2], errors[0] / 4);
  EXPECT_EQ(done.error, errors[2]);
  EXPECT_EQ(done.rounds, 4 * least_rounds(errors[0]));
}

TEST(paired_rounds, end_with_the_budget_after_three_at_least_and_play_the_chosen_rounds) {
  const auto nothing = [](std::size_t) {};
  const auto never = [](double) { return false; };
  EXPECT_EQ(play_rounds({.rounds = 0, .seconds = 0}, 4, nothing, never).rounds, 3U);
  EXPECT_EQ(play_rounds({.rounds = 5, .seconds = 0}, 4, nothing, never).rounds, 5U);
  EXPECT_EQ(play_rounds({.rounds = 0, .seconds = 1e6}, 4, nothing, never).rounds, most_rounds);
}

/// Two equal ways are distinguished at most as often as all looks together may err.
TEST(paired_rounds, many_questions_and_many_looks_err_within_their_level) {
  std::mt19937_64 random(1);
  std::cauchy_distribution<> noise(0, 0.05);
  constexpr std::size_t questions = 4;
  constexpr int runs = 600;
  int wrong = 0;
  for (int i = 0; i < runs; ++i) {
    std::array<std::vector<double>, questions> ratios;
    bool erred = false;
    const auto play = [&](std::size_t) {
      for (auto& r : ratios) r.push_back(std::exp(noise(random)));
    };
    const auto look = [&](double error) {
      for (const auto& r : ratios) {
        const median_interval found = interval_of(r, error);
        erred = erred || found.greatest < 1 || found.least > 1;
      }
      return erred || ratios[0].size() > 150;
    };
    static_cast<void>(play_rounds({.rounds = 0, .seconds = 1e6}, questions, play, look));
    wrong += erred ? 1 : 0;
  }
  EXPECT_LT(wrong, static_cast<int>(1.4 * family_error * runs));
}

/// Two-sided, from printed tables of Student's t.
TEST(student_quantile, has_the_values_of_the_tables) {
  struct entry {
    double error, freedom, t;
  };
  for (const auto& [error, freedom, t] : {entry{0.05, 1, 12.7062},
                                          {0.05, 2, 4.30265},
                                          {0.05, 3, 3.18245},
                                          {0.05, 4, 2.77645},
                                          {0.05, 5, 2.57058},
                                          {0.05, 10, 2.22814},
                                          {0.05, 30, 2.04227},
                                          {0.01, 1, 63.6567},
                                          {0.01, 2, 9.92484},
                                          {0.01, 3, 5.84091},
                                          {0.01, 10, 3.16927},
                                          {0.01, 120, 2.61742},
                                          {0.001, 1, 636.619},
                                          {0.001, 2, 31.5991},
                                          {0.001, 7, 5.40788}})
    EXPECT_NEAR(student_quantile(error, freedom) / t, 1, 1e-5) << error << " " << freedom;
}

}  // namespace
