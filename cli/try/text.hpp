// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Predicted beside measured, in a table, in sentences and as JSON.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/try/trial.hpp"

namespace ashlar::cli {

/// The predicted change by a malloc, in percent of A; for several threads a range.
struct predicted_change {
  double least = 0;
  double most = 0;
};
/// Expects: `m` is cpu, wall or peak.
[[nodiscard]] predicted_change predicted(const trial& t, run_measure m);

/// Returns: cpu, wall and peak of each malloc, and those that failed.
[[nodiscard]] std::string try_table(const trials& tried);
/// Returns: the verdict on each malloc, one line for each.
[[nodiscard]] std::vector<std::string> try_verdicts(const trials& tried);
/// Returns: the command with the best malloc, or the advice to change nothing.
[[nodiscard]] std::string try_conclusion(const trials& tried);
/// Returns: the notes of each experiment, notes of all alike once, and reasons for a difference between prediction and
/// measurement.
[[nodiscard]] std::vector<std::string> try_notes(const trials& tried, const trace_predictions& predictions);
[[nodiscard]] nlohmann::json try_json(const trials& tried, const trace_predictions& predictions);

}  // namespace ashlar::cli
