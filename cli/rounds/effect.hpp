// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The effect of B against A from pairs of runs in random order: the mean of log ratios, its interval, its verdict.
//
//   ratio of pair i   x(i) = log(B(i) / A(i))
//   effect            mean of x, as a ratio exp(mean)
//   interval          bootstrap over pairs, expanded for few pairs (Hesterberg 2015, The American Statistician 69, 371)
//   chance            of an effect as large by the order alone, which was random: signs of x flipped at random
//   detectable        2.8 deviations of the mean: the interval excludes 0 in 4 of 5 experiments, if it is there
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "cli/rounds/comparison.hpp"
#include "cli/rounds/interval.hpp"

namespace ashlar::cli {

using random_engine = std::mt19937_64;

/// Returns: a number below `bound`, the same on every platform. Expects: 0 < bound <= 2^32.
[[nodiscard]] inline std::size_t draw_below(random_engine& random, std::size_t bound) {
  return static_cast<std::size_t>(((random() >> 32) * bound) >> 32);
}

/// Returns: the values in random order.
template <class Values>
[[nodiscard]] Values shuffled(Values values, random_engine& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[draw_below(random, i)]);
  return values;
}

/// In logarithms of ratios.
struct mean_interval {
  double mean = 0;
  double least = 0;
  double greatest = 0;

  /// Returns: the mean of log ratios and its bounds, as ratios.
  [[nodiscard]] median_interval ratio() const { return {std::exp(mean), std::exp(least), std::exp(greatest)}; }
};

/// The chance that an interval misses, of one experiment.
inline constexpr double effect_error = 0.05;

/// Returns: whether only a multiple would be seen, the runs vary so much.
[[nodiscard]] constexpr bool shows_multiples_alone(double detectable) noexcept { return detectable >= 1; }

struct paired_effect {
  std::size_t pairs = 0;
  mean_interval log_ratio;
  double deviation = 0;         ///< Standard deviation of one pair.
  double chance = 1;            ///< Of a mean as far from 0, if A and B are the same.
  double error = effect_error;  ///< Of the interval.

  /// Returns: the smallest effect whose interval of this error would exclude 0 with 80 %, as a share.
  [[nodiscard]] double detectable() const;
  /// Returns: the same in ratios of B to A.
  [[nodiscard]] median_interval ratio() const;
};

/// Returns: the t with P(|T| > t) = error for Student's T. Expects: the freedom is an integer from 1 on. Complexity:
/// O(freedom).
[[nodiscard]] double student_quantile(double error, double freedom);

[[nodiscard]] double mean_of(const std::vector<double>& values);
/// Returns: the standard deviation, 0 of fewer than two values.
[[nodiscard]] double deviation_of(const std::vector<double>& values);

/// Returns: log(b / a) of each pair; both are raised to `floor`, the resolution of their clock, in the measure's unit.
/// Expects: as many values of each, and floor > 0.
[[nodiscard]] std::vector<double> log_ratios(const std::vector<double>& a, const std::vector<double>& b, double floor);

/// Effects: draws from `random`. Complexity: 2000 n for the interval; for the chance 2^n n of up to 14
/// pairs, 2000 n of more.
[[nodiscard]] paired_effect effect_of(const std::vector<double>& log_ratios, double error, random_engine& random);

/// Returns: a gain (B has less of it) or a loss, if the interval excludes that there is none, the chance of it is at
/// most half the interval's error, and the mean reaches the threshold; level, if the whole interval is within the
/// threshold (two one-sided tests); else undecided. So equal programs are told apart in about 2.5 % of experiments at
/// an error of 5 %, with any noise; in fewer than `pairs_for_difference` they never are.
[[nodiscard]] finding judge(const paired_effect& effect, double threshold);

/// Returns: the fewest pairs that can show a gain or a loss at this error of an interval: if all n differences have one
/// sign, 2 of the 2^n assignments of signs are as far from 0.
[[nodiscard]] inline std::size_t pairs_for_difference(double error) { return least_rounds(error / 2); }

inline constexpr std::size_t least_pairs = 12;

/// Returns: the number of pairs that show equality within the threshold with 80 %, if there is any, between
/// `least_pairs` and `most_rounds`. From the deviation in `pilot` pairs, which is itself uncertain (Stein's
/// two-stage procedure); the pilot's mean has no part in it. Expects: pilot > 5.
[[nodiscard]] std::size_t planned_pairs(double deviation, std::size_t pilot, double threshold);

/// Returns: the number of pairs, of all, that decide with 80 % if effect and deviation stay; more than `most_rounds`
/// if none of these do.
[[nodiscard]] std::size_t pairs_to_decide(const paired_effect& effect, double threshold);

}  // namespace ashlar::cli
