// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Predicted beside measured, in a table, in a sentence and as JSON.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/try/trial.hpp"

namespace ashlar::cli {

/// The predicted change by a candidate, in percent of the program's own `m`; for several threads a range.
struct predicted_change {
  double least = 0;
  double most = 0;
};
[[nodiscard]] predicted_change predicted(const trials& all, const trial& t, program_measure m);

[[nodiscard]] std::string try_headline(const trials& all, const std::string& program);
[[nodiscard]] std::string try_table(const trials& all);
/// Returns: the library to preload, or the advice to change nothing, or the rounds that a decision needs.
[[nodiscard]] std::string try_verdict(const trials& all, const std::string& program);
/// Returns: the method, and reasons for a difference between prediction and measurement, one line for each.
[[nodiscard]] std::vector<std::string> try_notes(const trials& all, const trace_predictions& predictions,
                                                 const std::string& program);
[[nodiscard]] nlohmann::json try_json(const trials& all, const trace_predictions& predictions,
                                      const std::string& program);

}  // namespace ashlar::cli
