// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One measure of a candidate against the baseline, round by round: a gain, a loss, no difference, or undecided.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "cli/rounds/interval.hpp"

namespace ashlar::cli {

/// The threshold below which a difference does not matter: below either member.
struct practical_threshold {
  double share = 0;     ///< Of the baseline.
  double absolute = 0;  ///< In the measure's own unit.
};

enum class finding { undecided, level, gain, loss };

struct paired_comparison {
  double baseline = 0;    ///< Median of its rounds.
  double own = 0;         ///< Median of the candidate's rounds.
  median_interval ratio;  ///< Of own to baseline, a value for each round.
  finding found = finding::undecided;
  std::size_t rounds_wanted = 0;  ///< If undecided: estimated rounds for a decision.
};

inline constexpr std::size_t most_rounds = 1000;

/// A gain or a loss holds in every ratio of the interval, and the median exceeds the threshold.
[[nodiscard]] inline finding find(const median_interval& ratio, double share) {
  if (ratio.greatest < 1) return ratio.median <= 1 - share ? finding::gain : finding::level;
  if (ratio.least > 1) return ratio.median >= 1 + share ? finding::loss : finding::level;
  return ratio.least >= 1 - share && ratio.greatest <= 1 + share ? finding::level : finding::undecided;
}

/// Returns: the estimated number of rounds after which the interval excludes 1 or lies within the threshold, whichever
/// is sooner, if its width continues to fall with the root of the number.
[[nodiscard]] inline std::size_t rounds_to_decide(const median_interval& ratio, std::size_t rounds, double share,
                                                  double error) {
  const std::size_t least = std::max(least_rounds(error), rounds + 1);
  if (!ratio.bounded() || ratio.least <= 0) return least;
  const double middle = std::log(ratio.median), away = std::abs(middle);
  const double width = std::max(std::log(ratio.greatest) - middle, middle - std::log(ratio.least));
  const double shrink = width / std::max(away, std::log1p(share) - away);
  const double wanted = std::min(static_cast<double>(rounds) * shrink * shrink, static_cast<double>(most_rounds) + 1);
  return std::max(least, static_cast<std::size_t>(std::ceil(wanted)));
}

/// Returns: the candidate's value over the baseline's in one round; 1 if the difference is too small to matter.
[[nodiscard]] inline double paired_ratio(double own, double baseline, double absolute) {
  if (own == baseline || std::abs(own - baseline) < absolute) return 1;
  return own / std::max(baseline, 1e-9);
}

/// Expects: round i of both was played together.
[[nodiscard]] inline paired_comparison compare(const std::vector<double>& baseline, const std::vector<double>& own,
                                               practical_threshold threshold, double error) {
  const std::size_t rounds = std::min(baseline.size(), own.size());
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rounds; ++i) ratios.push_back(paired_ratio(own[i], baseline[i], threshold.absolute));
  paired_comparison c{median_of(baseline), median_of(own), interval_of(ratios, error), finding::undecided, 0};
  c.found = find(c.ratio, threshold.share);
  if (c.found == finding::undecided) c.rounds_wanted = rounds_to_decide(c.ratio, rounds, threshold.share, error);
  return c;
}

}  // namespace ashlar::cli
