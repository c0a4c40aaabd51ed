// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar verify --attribute`: the effect of each group of a plan, from runs with a random half of the groups.
#pragma once

#include <string>
#include <vector>

#include "cli/rounds/attribution.hpp"
#include "cli/routes/plan.hpp"
#include "cli/verify/experiment.hpp"

namespace ashlar::cli {

/// Groups of a plan that come and go together, by their numbers; each group is in one part.
using plan_parts = std::vector<std::vector<std::size_t>>;

/// The fewest pairs of a part whose effect is worth its runs.
inline constexpr std::size_t least_pairs_of_part = 8;

/// Returns: the first groups, which have the greatest estimates, each for itself, and the others together:
/// `least_pairs_of_part` or more for each, but two parts at least. Expects: two groups or more.
[[nodiscard]] plan_parts parts_of(std::size_t groups, std::size_t pairs);

/// Returns: a part for each group.
[[nodiscard]] plan_parts each_group(const route_plan& routes);

struct attribution {
  std::vector<mean_interval> effects;  ///< In the order of the parts.
  std::size_t pairs = 0;
  paired_effect itself = {};  ///< A against A.
};

/// The seed of `ashlar verify`.
inline constexpr double attribution_error = 0.01;

/// `error`: the chance that any of the intervals misses.
/// Effects: runs `setting.b` with half of the plan's parts and with the other half, in pairs, in some of
/// them `setting.a` twice as well, if `setting.itself`. Throws:
/// `different_program` if it ever prints or ends otherwise than `setting.a`; `std::runtime_error` for too few pairs.
[[nodiscard]] attribution attribute(const experiment_plan& setting, const route_plan& routes, const plan_parts& parts,
                                    double error, const experiment_progress& progress);

/// Returns: a line for each group, those to drop named. Expects: a part for each group.
[[nodiscard]] std::string attribution_text(const attribution& found, const route_plan& routes);

/// Returns: the groups whose whole interval is a gain, each with its effect as evidence. Expects: a part for each
/// group.
[[nodiscard]] route_plan reduced(const route_plan& routes, const attribution& found);

}  // namespace ashlar::cli
