// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The meaning of a replay in words: a line for each candidate in three dimensions, the verdict, and the program's gain.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/replay/figures.hpp"
#include "cli/replay/table.hpp"
#include "cli/rounds/comparison.hpp"
#include "cli/rounds/rounds.hpp"

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

/// Returns: "14 % less time (9 to 19)".
[[nodiscard]] std::string relative_change(const median_interval& ratio, const char* what);
/// Returns: "-5.8 % (-6.6 to -4.9)", or "-5.8 %" if too few rounds give no interval.
[[nodiscard]] std::string signed_change(const median_interval& ratio);
/// Returns: "24.5 -> 12.7 MiB", or with both units if they differ.
[[nodiscard]] std::string bytes_change(double from, double to);
/// Returns: "about 40 repetitions (--budget 95)".
[[nodiscard]] std::string more_rounds(std::size_t wanted, const rounds_played& played, const char* option);

}  // namespace ashlar::cli
