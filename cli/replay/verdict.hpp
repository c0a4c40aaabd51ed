// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The meaning of a replay in words: a line for each candidate in three dimensions, the verdict, and the program's gain.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/replay/figures.hpp"
#include "cli/replay/table.hpp"

namespace ashlar::cli {

/// Returns: the method of the findings; empty if there are none.
[[nodiscard]] std::string replay_findings_heading(const replay_figures& figures);
/// Returns: a line for each rival of the baseline: its gains, its losses, its open questions.
[[nodiscard]] std::vector<std::string> replay_findings(const replay_figures& figures);
/// Returns: the allocator to use, or the advice to change nothing, or the repetitions that a decision needs.
[[nodiscard]] std::string replay_verdict(const replay_figures& figures);
/// Returns: the rival with the greatest gain of time, else of tail, else of memory; null if none gains.
[[nodiscard]] const candidate_figures* replay_winner(const replay_figures& figures);
/// Returns: the effect of the winner's gain of time on the recorded program as a whole; empty without a gain.
[[nodiscard]] std::string replay_meaning(const replay_figures& figures, const replayed_trace& trace);

/// Milliseconds of allocation that a run of the program would save. The overlap of several threads is unknown: `least`
/// is the busiest thread alone, `most` all threads one after the other.
struct saved_time {
  double least_ms = 0;
  double most_ms = 0;
};
[[nodiscard]] saved_time saved_by(const candidate_figures& row, const replay_figures& figures,
                                  const detail::replay_counts& counts);

/// Returns: the rounds that decide about a rival.
[[nodiscard]] std::size_t rounds_wanted(const candidate_figures& row, measure m);

/// Returns: as advice on a program that is not changed: the malloc to preload, or to change nothing, or the repetitions
/// that would decide.
[[nodiscard]] std::string preload_verdict(const replay_figures& figures);
[[nodiscard]] bool preload_is_open(const replay_figures& figures);

/// Returns: every figure with its unit in its name.
[[nodiscard]] nlohmann::json replay_json(const replay_figures& figures, const replayed_trace& trace);

}  // namespace ashlar::cli
