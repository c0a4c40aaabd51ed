// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What became of a recording, when the recorded program has ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ashlar::cli {

struct recording_summary {
  std::string text;              ///< One line: events, threads and bytes, and how many other processes left traces.
  std::uint64_t events = 0;      ///< Of the trace itself.
  bool has_trace = false;        ///< There are bytes in the file that a reader may look at.
  std::size_t other_traces = 0;  ///< Of processes that the recorded one started.
};

/// Returns: what is in the trace at `path`, and in those beside it that were written since `start`.
[[nodiscard]] recording_summary summarise_recording(const std::string& path, std::filesystem::file_time_type start);

}  // namespace ashlar::cli
