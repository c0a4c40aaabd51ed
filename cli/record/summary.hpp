// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The result of a recording, when the recorded program has ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ashlar::cli {

/// The trace of a process that the recorded one has started.
struct other_trace {
  std::string path;
  std::uint32_t process = 0;
  std::uint64_t events = 0;
};

struct recording_summary {
  std::string text;          ///< One line: events, threads and bytes, and the other traces.
  std::uint64_t events = 0;  ///< Of the trace itself.
  bool has_trace = false;    ///< The file has bytes for a reader.
  std::vector<other_trace> others;
};

/// Returns: the contents of the trace at `path`, and of those beside it that were written since `start`; `output` is
/// its name as it was given, with "%p" or without.
[[nodiscard]] recording_summary summarise_recording(const std::string& path, const std::string& output,
                                                    std::filesystem::file_time_type start);

}  // namespace ashlar::cli
