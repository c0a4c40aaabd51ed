// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The smallest effect that a trial would have shown, of a remedy that was not tried.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/remedies/experiment.hpp"

namespace ashlar::cli {

struct seen_effect {
  double detectable = 0;   ///< As a share: the interval excludes 0 with 80 %.
  std::size_t pairs = 0;   ///< Of the trials that it is the median of.
  bool of_groups = false;  ///< Effects of groups of the plan; else of remedies for the whole program.
};

/// Returns: what a further remedy would have shown, tried as the others were: the median of the groups, or of the
/// remedies if no group was measured. Nothing if too few rounds have no interval.
[[nodiscard]] std::optional<seen_effect> seen_effect_of(const remedy_measurement& m);

/// Returns: "anything above 1.2 % would have been seen".
[[nodiscard]] std::string seen_text(double detectable);

}  // namespace ashlar::cli
