// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The result of a replay in words: a table 100 columns wide, its meaning, and its limits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ashlar/study/window_compiler.hpp>

#include "cli/replay/figures.hpp"

namespace ashlar::cli {

/// The replayed trace.
struct replayed_trace {
  std::string path;
  std::string program;
  detail::replay_counts counts;
  std::uint64_t duration_ns = 0;  ///< Of the recorded run; much of it is recording.
  double program_ns = 0;          ///< Of a run without recording; 0: unknown.
  std::size_t repetitions = 0;
  std::vector<std::string> missing;   ///< Usual allocators that are missing on this machine.
  std::vector<std::string> left_out;  ///< Candidates that cannot serve this trace: one sentence for each.
};

[[nodiscard]] std::string replay_table(const replay_figures& figures);
/// Returns: the memory of each allocator for the program's live bytes.
[[nodiscard]] std::string replay_memory_table(const replay_figures& figures, const replayed_trace& trace);
/// Returns: the cost of all threads together and their waits for each other; empty for a trace of one thread.
[[nodiscard]] std::string replay_threads_table(const replay_figures& figures, const replayed_trace& trace);
/// Returns: "1.25x"; empty if no byte was live.
[[nodiscard]] std::string per_live_byte(const spread& bytes, const replayed_trace& trace);
/// Returns: the method and the omissions, one line for each.
[[nodiscard]] std::vector<std::string> replay_notes(const replay_figures& figures, const replayed_trace& trace);
/// Returns: one line about the replayed trace.
[[nodiscard]] std::string replay_headline(const replayed_trace& trace);

}  // namespace ashlar::cli
