// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The share of simulated experiments in which an interval misses, over rounds, remedies and noise. ASHLAR_STRESS=10 has
// ten times as many, and prints the tables of docs/verify-trials.md.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "cli/tests/noise.hpp"
#include "tests/support/stress.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::normal, ashlar_test::uniform;

// Noise of the log time of a run.
double lognormal(random_engine& random) { return std::exp(normal(random)); }
double bimodal(random_engine& random) {
  const double within = 0.1 * normal(random);
  return within + (uniform(random) < 0.2 ? 1 : 0);
}
double none(random_engine& /*random*/) { return 0; }

/// Many values of a noise around their mean, from which each run draws one.
class drawn_noise {
public:
  explicit drawn_noise(double (*noise)(random_engine&)) {
    random_engine random(1);
    for (double& v : values_) v = noise(random);
    const double mean = mean_of(values_);
    for (double& v : values_) v -= mean;
  }
  [[nodiscard]] double operator()(random_engine& random) const { return values_[draw_below(random, values_.size())]; }

private:
  std::vector<double> values_ = std::vector<double>(1 << 14);
};

struct kind_of_noise {
  const char* name;
  drawn_noise of_program;  ///< Shared by the remedies of a round.
  drawn_noise of_remedy;
};

constexpr std::array<std::size_t, 8> all_rounds = {6, 7, 8, 10, 12, 15, 20, 30};
constexpr std::array<std::size_t, 4> all_remedies = {1, 3, 9, 20};

bool misses(const mean_interval& found) { return found.least > 0 || found.greatest < 0; }

std::vector<double> with_noise(const std::vector<double>& program, const kind_of_noise& noise, random_engine& random) {
  std::vector<double> ratios(program.size());
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = noise.of_remedy(random) - program[i];
  return ratios;
}

/// Returns: the percentage of experiments without an effect in which an interval excludes 0. Where Student's t holds
/// 0, the remedy is not resampled, since its interval is no narrower.
double missing(std::size_t rounds, std::size_t remedies, const kind_of_noise& noise, std::size_t experiments) {
  const double error = effect_error / static_cast<double>(remedies), n = static_cast<double>(rounds);
  const double t = student_quantile(error, n - 1) / std::sqrt(n);
  random_engine random(7);
  std::size_t missed = 0;
  for (std::size_t i = 0; i < experiments; ++i) {
    std::vector<double> program(rounds);
    for (double& run : program) run = noise.of_program(random);
    bool any = false;
    for (std::size_t r = 0; r < remedies && !any; ++r) {
      const std::vector<double> ratios = with_noise(program, noise, random);
      if (std::abs(mean_of(ratios)) <= t * deviation_of(ratios)) continue;
      any = misses(interval_of_mean(ratios, error, random));
    }
    missed += any ? 1 : 0;
  }
  return 100 * static_cast<double>(missed) / static_cast<double>(experiments);
}

bool prints() { return std::getenv("ASHLAR_STRESS") != nullptr; }

/// Returns: the greatest of the table.
double table_of(const kind_of_noise& noise, std::size_t experiments) {
  double greatest = 0;
  for (const std::size_t rounds : all_rounds) {
    if (prints()) std::printf("| %s | %zu |", noise.name, rounds);
    for (const std::size_t remedies : all_remedies) {
      const double share = missing(rounds, remedies, noise, experiments);
      greatest = std::max(greatest, share);
      if (prints()) std::printf(" %.1f |", share);
    }
    if (prints()) std::puts("");
  }
  return greatest;
}

constexpr double printed = 100 * effect_error;

/// Of 1,000 experiments a share of 5 % has a standard error of 0.7.
TEST(simultaneous_intervals, hold_together_in_few_rounds_as_printed) {
  const drawn_noise even(normal), skewed(lognormal), split(bimodal);
  for (const kind_of_noise& noise :
       {kind_of_noise{"normal", even, even}, {"lognormal", skewed, skewed}, {"bimodal", split, split}})
    EXPECT_LE(table_of(noise, ashlar_test::stress_rounds(1000)), printed + 1.5) << noise.name;
}

/// Ten rounds tell nothing of what one run in a hundred does: no interval of a mean holds then.
TEST(simultaneous_intervals, of_skewed_noise_in_one_program_alone_hold_less_often) {
  const drawn_noise quiet(none), skewed(lognormal), split(bimodal);
  for (const kind_of_noise& noise : {kind_of_noise{"lognormal", quiet, skewed}, {"bimodal", quiet, split}}) {
    if (prints()) table_of(noise, ashlar_test::stress_rounds(400));
    EXPECT_GT(missing(6, 20, noise, 100), printed) << noise.name;
    EXPECT_LT(missing(30, 1, noise, 400), 3 * printed) << noise.name;
  }
}

TEST(simultaneous_intervals, are_no_narrower_than_those_of_student) {
  const kind_of_noise noise{"", drawn_noise(none), drawn_noise(lognormal)};
  random_engine random(3);
  for (const std::size_t rounds : all_rounds)
    for (const double error : {0.05, 0.05 / 3, 0.05 / 20})
      for (int i = 0; i < 5; ++i) {
        const std::vector<double> ratios = with_noise(std::vector<double>(rounds), noise, random);
        const auto [mean, least, greatest] = interval_of_mean(ratios, error, random);
        const double n = static_cast<double>(rounds);
        const double width = student_quantile(error, n - 1) * deviation_of(ratios) / std::sqrt(n) * (1 - 1e-12);
        EXPECT_LE(least, mean - width) << rounds << " " << error;
        EXPECT_GE(greatest, mean + width) << rounds << " " << error;
      }
}

/// With the two-sided interval of a mean: 80 % expected.
TEST(simultaneous_intervals, exclude_0_in_4_of_5_experiments_with_a_detectable_effect) {
  for (const std::size_t rounds : {8U, 12U, 40U})
    for (const double error : {0.05, 0.05 / 9}) {
      paired_effect known;
      known.pairs = rounds;
      known.error = error;
      known.deviation = std::sqrt(2.0) * 0.01;
      const double effect = std::log1p(known.detectable());
      random_engine random(5);
      int excluded = 0;
      for (int i = 0; i < 200; ++i) {
        std::vector<double> ratios(rounds);
        for (double& r : ratios) {
          const double with = normal(random), without = normal(random);
          r = effect + 0.01 * (with - without);
        }
        excluded += misses(interval_of_mean(ratios, error, random)) ? 1 : 0;
      }
      EXPECT_GE(excluded, 148) << rounds << " " << error;
      EXPECT_LE(excluded, 176) << rounds << " " << error;
    }
}

}  // namespace
