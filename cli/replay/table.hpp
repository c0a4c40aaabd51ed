// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The result of a replay in words: a table 100 columns wide, what it means, and what it does not show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ashlar/study/window_compiler.hpp>

#include "cli/replay/figures.hpp"

namespace ashlar::cli {

/// What was replayed.
struct replayed_trace {
  std::string path;
  std::string program;
  study::replay_counts counts;
  std::uint64_t duration_ns = 0;  ///< Of the recorded run, much of which is recording.
  double program_ns = 0;          ///< Of a run that is not recorded; 0: not known.
  std::size_t repetitions = 0;
  std::vector<std::string> missing;   ///< Usual allocators that this machine does not have.
  std::vector<std::string> left_out;  ///< Candidates that cannot serve this trace: a sentence each.
};

[[nodiscard]] std::string replay_table(const replay_figures& figures);
/// Returns: what each allocator took for the program's live bytes.
[[nodiscard]] std::string replay_memory_table(const replay_figures& figures, const replayed_trace& trace);
/// Returns: what the threads cost together and how long they waited for each other; empty for a trace of one thread.
[[nodiscard]] std::string replay_threads_table(const replay_figures& figures, const replayed_trace& trace);
/// Returns: "1.25x"; empty where nothing was live.
[[nodiscard]] std::string per_live_byte(const spread& bytes, const replayed_trace& trace);
/// Returns: how it was measured and what was left out, a line each.
[[nodiscard]] std::vector<std::string> replay_notes(const replay_figures& figures, const replayed_trace& trace);
/// Returns: one line on what was replayed.
[[nodiscard]] std::string replay_headline(const replayed_trace& trace);

}  // namespace ashlar::cli
