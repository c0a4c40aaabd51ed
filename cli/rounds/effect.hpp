// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The effect of B against A from pairs of runs in random order: the mean of log ratios, its interval, its verdict.
//
//   ratio of pair i   x(i) = log(B(i) / A(i))
//   effect            mean of x, as a ratio exp(mean)
//   interval          the wider of Student's t and of a bootstrap over pairs, which alone misses too often in ten pairs
//                     though it is expanded for few (Hesterberg 2015, The American Statistician 69, 371)
//   chance            of an effect as large by the order alone, which was random: signs of x flipped at random
//   detectable        2.8 deviations of the mean, more in few pairs: the interval excludes 0 in 4 of 5 experiments with
//                     an effect of that size
#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

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

/// The verdict on an effect, of every verb: on B, a remedy, a plan or a group of it, by the interval beside it. The
/// first that holds:
///
///     level       the whole interval is within the bound, also where it excludes 0: a smaller share does not matter
///     gain        it is below 0
///     loss        it is above 0
///     undecided   it holds 0
///
/// Too few rounds for an interval are undecided. So are a gain and a loss of rounds whose random order alone has an
/// effect as large with a chance of more than half the interval's error: equal programs are told apart in about 2.5 %
/// of experiments at an error of 5 %, with any noise.
enum class finding { undecided, level, gain, loss };

/// Returns: "gain", "loss", "level" or "undecided".
[[nodiscard]] const char* verdict_word(finding verdict) noexcept;
/// Returns: the verdict of this word; undecided for another one.
[[nodiscard]] finding verdict_named(std::string_view word) noexcept;

/// In logarithms of ratios.
struct mean_interval {
  double mean = 0;
  double least = 0;
  double greatest = 0;
};

/// The chance that an interval misses, of one experiment.
inline constexpr double effect_error = 0.05;

struct paired_effect {
  std::size_t pairs = 0;
  mean_interval log_ratio;
  double deviation = 0;         ///< Standard deviation of one pair.
  double chance = 1;            ///< Of a mean as far from 0, if A and B are the same.
  double error = effect_error;  ///< Of the interval.

  /// Returns: the smallest effect whose interval would exclude 0 with 80 %, as a share; 0 of fewer than two pairs.
  [[nodiscard]] double detectable() const;
  /// Returns: whether the pairs are enough for a gain or a loss.
  [[nodiscard]] bool could_tell() const;
};

/// `bound`: the share that matters; a smaller one does not.
[[nodiscard]] finding verdict_of(const mean_interval& log_ratio, double bound) noexcept;
[[nodiscard]] finding verdict_of(const paired_effect& effect, double bound);

/// Returns: the t with P(|T| > t) = error for Student's T. Expects: a whole freedom above 0. Complexity: O(freedom).
[[nodiscard]] double student_quantile(double error, double freedom);

/// Returns: the median, 0 of no values.
[[nodiscard]] double median_of(std::vector<double> values);
[[nodiscard]] double mean_of(const std::vector<double>& values);
/// Returns: the standard deviation, 0 of fewer than two values.
[[nodiscard]] double deviation_of(const std::vector<double>& values);

/// What matters of a measure, in its unit but for the threshold.
struct measure_scale {
  double floor = 1;         ///< Values are raised to it: their clock does not resolve them.
  double threshold = 0.01;  ///< A smaller share does not matter.
  double step = 0;          ///< Nor does a smaller difference.
};

/// Returns: log(b / a) of each pair. Expects: as many values of each, and a floor above 0.
[[nodiscard]] std::vector<double> log_ratios(const std::vector<double>& a, const std::vector<double>& b,
                                             const measure_scale& scale);

/// Returns: the interval that holds the mean but for `error` of the experiments, if the ratios are spread alike to both
/// sides, as they are of noise that A and B share. Effects: draws from `random`. Complexity: 2000 n. Expects: n > 1.
[[nodiscard]] mean_interval interval_of_mean(const std::vector<double>& log_ratios, double error,
                                             random_engine& random);

/// Effects: draws from `random`. Complexity: 2000 n for the interval; for the chance 2^n n of up to 14 pairs, 2000 n
/// of more, and as many n as decide at a small error.
[[nodiscard]] paired_effect effect_of(const std::vector<double>& log_ratios, double error, random_engine& random);

/// B against A, by one measure.
struct comparison {
  double a = 0;  ///< Geometric mean.
  double b = 0;
  paired_effect effect;
  finding found = finding::undecided;
};

/// Returns: the effect of `b` against `a`, run by run, and its verdict. Effects: draws from `random`.
[[nodiscard]] comparison compare(const std::vector<double>& a, const std::vector<double>& b, const measure_scale& scale,
                                 double error, random_engine& random);

/// Returns: the fewest pairs that can show a gain or a loss at this error of an interval: if all n differences have one
/// sign, 2 of the 2^n assignments of signs are as far from 0.
[[nodiscard]] std::size_t pairs_for_difference(double error);

inline constexpr std::size_t least_pairs = 12;
inline constexpr std::size_t most_rounds = 1000;

/// Returns: the share of slow runs that `pairs` meet with 95 %, by the rule of three: (1 - 3 / n)^n is 5 % at most.
[[nodiscard]] constexpr double rarest_met(std::size_t pairs) noexcept { return 3 / static_cast<double>(pairs); }
/// Returns: the fewest pairs that meet slow runs of this share. Expects: 0 < share <= 1.
[[nodiscard]] std::size_t pairs_that_meet(double share);

/// Returns: the number of pairs that show equality within the threshold with 80 %, if there is any, between
/// `least_pairs` and `most_rounds`. From the deviation in `pilot` pairs, which is itself uncertain (Stein's
/// two-stage procedure); the pilot's mean has no part in it. Expects: pilot > 5.
[[nodiscard]] std::size_t planned_pairs(double deviation, std::size_t pilot, double threshold,
                                        double error = effect_error);

/// Returns: the pairs, of all, that decide with 80 % if effect and deviation stay; more than `most_rounds` if none do.
[[nodiscard]] std::size_t pairs_to_decide(const paired_effect& effect, double threshold);

struct run_mode {
  double centre = 0;  ///< Geometric mean of its runs.
  std::size_t runs = 0;
};

struct two_modes {
  run_mode low;
  run_mode high;
};

inline constexpr std::size_t least_runs_for_modes = 12;

/// Returns: two modes of positive values, if their logarithms split so: the centres are at least 6 deviations within
/// the groups apart (Ashman's D), the empty gap between the groups is at least 0.4 of that distance, each group has at
/// least 3 runs and 15 % of them. One mode, normal: found in 0.5 % of 12 runs, and never in 40. Two of the same size at
/// 10 deviations: in 96 % of 12 runs, and 99 % of 80. Heavy tails pass for a second mode in up to 4 % of 20 runs with a
/// tenth of spikes.
[[nodiscard]] std::optional<two_modes> modes_of(const std::vector<double>& values);

}  // namespace ashlar::cli
