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
/// Returns: which library to preload, or to change nothing, or what it would take to tell.
[[nodiscard]] std::string try_verdict(const trials& all, const std::string& program);
/// Returns: how it was measured, and why predicted and measured may differ, a line each.
[[nodiscard]] std::vector<std::string> try_notes(const trials& all, const trace_predictions& predictions,
                                                 const std::string& program);
[[nodiscard]] nlohmann::json try_json(const trials& all, const trace_predictions& predictions,
                                      const std::string& program);

}  // namespace ashlar::cli
