// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `ashlar verify --attribute`: the effect of each group of a plan, from runs with a random half of the groups.
#pragma once

#include <string>
#include <vector>

#include "cli/rounds/attribution.hpp"
#include "cli/routes/plan.hpp"
#include "cli/verify/experiment.hpp"

namespace ashlar::cli {

struct attribution {
  std::vector<mean_interval> effects;  ///< In the order of the groups.
  std::size_t pairs = 0;
};

/// That of `ashlar verify`.
inline constexpr double attribution_error = 0.01;

/// `error`: the chance that any of the intervals misses.
/// Effects: runs `setting.b` with half of the plan's groups and with the other half, in pairs. Throws:
/// `different_program` if it ever prints or ends otherwise than `setting.a`; `std::runtime_error` for too few pairs.
[[nodiscard]] attribution attribute(const experiment_plan& setting, const route_plan& routes, double error,
                                    const experiment_progress& progress);

/// Returns: a line for each group, those to drop named.
[[nodiscard]] std::string attribution_text(const attribution& found, const route_plan& routes);

/// Returns: the groups whose whole interval is a gain.
[[nodiscard]] route_plan reduced(const route_plan& routes, const attribution& found);

}  // namespace ashlar::cli
