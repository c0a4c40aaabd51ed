// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replays a compiled trace against each candidate in a separate process, repetitions interleaved.
#pragma once

#include <functional>

#include "cli/replay/candidates.hpp"
#include "cli/replay/child.hpp"
#include "cli/rounds/rounds.hpp"

namespace ashlar::cli {

/// All measurements of one candidate.
struct candidate_results {
  candidate who;
  std::vector<replay_result> throughput;
  std::vector<replay_result> latency;
  std::string failure;  ///< One line; empty if every replay succeeded.
};

/// Effects: starts a process with the library in front. Throws: `std::runtime_error` with the reason, if its malloc is
/// not of the library, as the dynamic linker starts a program without a library that it cannot load.
void expect_malloc(const candidate& who);

struct replay_run {
  std::vector<candidate_results> results;
  rounds_played played;
};

/// Effects: plays rounds: in each, every candidate is replayed once without timers and once with every call timed, A B
/// C A B C. Each round begins with another candidate. A candidate that fails once is skipped from then on.
[[nodiscard]] replay_run replay_all(const std::vector<candidate>& candidates, int windows, const round_limits& limits);

}  // namespace ashlar::cli
