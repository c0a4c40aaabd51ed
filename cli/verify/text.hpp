// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A verification as a sentence, a table, notes, and JSON.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/verify/experiment.hpp"

namespace ashlar::cli {

/// Returns: "B is better: -14.6 % [-17.4, -11.4] processor time", or the pairs that would decide.
[[nodiscard]] std::string verdict_sentence(const verification& v, const experiment_plan& plan);
[[nodiscard]] std::string effect_table(const verification& v);
/// Returns: A against itself, modes, what is not measured; a line for each.
[[nodiscard]] std::vector<std::string> verify_notes(const verification& v, const experiment& found,
                                                    const experiment_plan& plan);
/// Returns: all of it, with every run.
[[nodiscard]] nlohmann::json verify_json(const verification& v, const experiment& found, const experiment_plan& plan);

}  // namespace ashlar::cli
