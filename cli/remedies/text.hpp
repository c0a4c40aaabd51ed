// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A measurement of remedies as a sentence, a list, and JSON.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/remedies/experiment.hpp"

namespace ashlar::cli {

/// Returns: the winner, or to change nothing, or the rounds that would decide.
[[nodiscard]] std::string remedy_sentence(const remedy_measurement& m, const remedy_request& request);

/// Returns: the sentence, then a line for each remedy and for each group, the greatest gain first, then notes.
[[nodiscard]] std::string remedy_text(const remedy_measurement& m, const remedy_request& request);

/// Returns: "-10.4 % [-11.7, -9.1]", or to change nothing with what would have been seen.
[[nodiscard]] std::string group_text(const group_effect& group);

/// Returns: the same of the rounds of two sides. An interval needs `least` of them.
[[nodiscard]] std::string time_text(const paired_effect& cpu, std::size_t least);

/// Returns: the same of a remedy with its peak RSS, or why it has no effect. An interval needs `least` rounds.
[[nodiscard]] std::string effect_text(const remedy_effect& e, std::size_t least);

/// Returns: all of it, with every run.
[[nodiscard]] nlohmann::json remedy_json(const remedy_measurement& m, const remedy_request& request);

[[nodiscard]] int exit_status_of(remedy_decision decision) noexcept;

}  // namespace ashlar::cli
