// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A measurement of remedies as a sentence, a list, and JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

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

/// Returns: the winner, or to change nothing, or the rounds that would decide.
[[nodiscard]] std::string remedy_sentence(const remedy_measurement& m, const remedy_request& request);

/// Returns: the sentence, then a line for each remedy and for each group, the greatest gain first, then notes.
[[nodiscard]] std::string remedy_text(const remedy_measurement& m, const remedy_request& request);

/// Returns: all of it, with every run.
[[nodiscard]] nlohmann::json remedy_json(const remedy_measurement& m, const remedy_request& request);

[[nodiscard]] int exit_status_of(remedy_decision decision) noexcept;

}  // namespace ashlar::cli
