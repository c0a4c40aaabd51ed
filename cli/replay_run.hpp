// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replays a compiled trace against each candidate in a process of its own, repetitions interleaved.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "replay_candidates.hpp"
#include "replay_result.hpp"

namespace ashlar::cli {

/// All that was measured of one candidate.
struct candidate_results {
  candidate who;
  std::vector<replay_result> throughput;
  std::vector<replay_result> latency;
  std::string failure;  ///< One line; empty if every replay succeeded.
};

/// Returns: what the process measured. Throws: `std::runtime_error` saying why it measured nothing.
[[nodiscard]] replay_result replay_once(const candidate& who, bool latency, int windows);

/// Called before each replay with how many are done, how many there are and what is next.
using replay_progress = std::function<void(std::size_t done, std::size_t all, const candidate& next)>;

/// Effects: replays A B C A B C ..., `repetitions` times without timers and as often, three times at most, with every
/// call timed. A candidate that fails once is left alone from then on.
[[nodiscard]] std::vector<candidate_results> replay_all(const std::vector<candidate>& candidates, int windows,
                                                        std::size_t repetitions, const replay_progress& progress);

}  // namespace ashlar::cli
