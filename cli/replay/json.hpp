// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The result of a replay for programs.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/replay/figures.hpp"
#include "cli/replay/table.hpp"

namespace ashlar::cli {

/// Returns: the ratio, its interval (null: too few rounds), and the finding.
[[nodiscard]] nlohmann::json comparison_json(const paired_comparison& c);

[[nodiscard]] nlohmann::json replay_json(const replay_figures& figures, const replayed_trace& trace);

}  // namespace ashlar::cli
