// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The effect of each group of a plan, from rounds with a random half of the groups and with the others.
//
//   log(time with S / time with the rest) = sum of +effect for parts in S, -effect for the others, + noise
//
// Least squares over the pairs, so that every run informs every part.
#pragma once

#include "cli/routes/plan.hpp"
#include "cli/verify/experiment.hpp"

namespace ashlar::cli {

/// Which parts the first run of a pair had; the second had the others.
using part_choice = std::vector<bool>;

/// Returns: each part with probability 1/2.
[[nodiscard]] part_choice choose_parts(std::size_t parts, random_engine& random);
[[nodiscard]] part_choice others_than(part_choice choice);

/// Returns: how many pairs the parts need, so that some are left to estimate the noise.
[[nodiscard]] constexpr std::size_t least_pairs_for(std::size_t parts) noexcept { return parts + 6; }

/// Returns: the effect of each part in logarithms, intervals that hold together with 1 - error (Bonferroni). Expects:
/// as many choices as ratios, all of the same size. Throws: `std::runtime_error` if the choices do not distinguish the
/// parts: more pairs are needed. Complexity: pairs * parts^2 + parts^3.
[[nodiscard]] std::vector<mean_interval> part_effects(const std::vector<part_choice>& choices,
                                                      const std::vector<double>& log_ratios, double error);

/// Groups of a plan that come and go together, by their numbers; each group is in one part.
using plan_parts = std::vector<std::vector<std::size_t>>;

/// The fewest pairs of a part whose effect is worth its runs.
inline constexpr std::size_t least_pairs_of_part = 8;

/// Returns: the first groups, which have the greatest estimates, each for itself, and the others together:
/// `least_pairs_of_part` or more for each, but two parts at least. Expects: two groups or more.
[[nodiscard]] plan_parts parts_of(std::size_t groups, std::size_t pairs);

/// A part of the plan against the other parts alone.
struct group_effect {
  std::string name;
  std::vector<std::size_t> groups = {};  ///< Their numbers; several where the budget does not tell them apart.
  mean_interval log_ratio = {};
  double detectable = 0;
  std::string sites = {};  ///< Of a single group, by their titles.
  /// Returns: whether it is a gain, by `verdict_of`.
  [[nodiscard]] bool stays(double threshold) const noexcept;
};

struct attribution {
  std::vector<group_effect> parts;
  std::size_t pairs = 0;
  paired_effect itself = {};  ///< The program as it is against itself, if it was repeated.
};

/// The plan's groups, and the side that follows them all.
struct attribution_request {
  const route_plan* routes;
  const program_side* routed;
  plan_parts parts;
  double error;               ///< The chance that any of the intervals misses.
  bool repeats_first = true;  ///< Run the program as it is twice in some rounds.
};

/// Effects: runs half of the parts and the other half, by the measure, in as many pairs or seconds as `setting` tells.
/// Throws: `different_program` if it ever prints or ends otherwise than the first run; `std::runtime_error` for too few
/// pairs. Expects: the player has begun.
[[nodiscard]] attribution attribute(program_player& player, const attribution_request& request,
                                    const experiment_plan& setting);

/// Returns: a line for each part, with its verdict.
[[nodiscard]] std::string attribution_text(const attribution& found, double threshold);

[[nodiscard]] nlohmann::json group_json(const group_effect& part, bool stays, double threshold);

/// Returns: the groups that gain, each with its effect as evidence.
[[nodiscard]] route_plan reduced(route_plan routes, const attribution& found, double threshold);

}  // namespace ashlar::cli
