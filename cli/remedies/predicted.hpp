// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A replay of the trace on the mallocs of the machine, as advice: the level PREDICTED.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace ashlar::cli {

/// Returns: the JSON of `ashlar replay` on the usual allocators, within about this many seconds. Throws:
/// `std::runtime_error` if it fails.
[[nodiscard]] nlohmann::json replay_remedies(const std::string& trace, double seconds, double program_seconds,
                                             bool accept_prefix);

/// Returns: the best allocator, or to change nothing, or that more repetitions would decide; then a line for each, the
/// greatest gain first. Expects: the JSON of a replay.
[[nodiscard]] std::string predicted_text(const nlohmann::json& replay);

/// Returns: the exit status for that first line. Expects: the same.
[[nodiscard]] int predicted_status(const nlohmann::json& replay);

}  // namespace ashlar::cli
