// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The result of a recording, when the recorded program has ended: what its traces have, and what they lack, since their
// processes ended without a chance to write.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/record/child.hpp"
#include "cli/record/status.hpp"

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

struct recording_losses {
  std::string text;        ///< Each process and what it lacks; empty if there are none.
  bool is_untold = false;  ///< A process has ended, and not the recorded one by a signal, as its status tells.
};

/// Returns: the losses of the processes that have not finished; `path` is the path of the recorded program's trace.
[[nodiscard]] recording_losses find_losses(const std::vector<record_status::unfinished>& processes,
                                           const child_result& program, const std::string& path,
                                           const recording_summary& sum);

}  // namespace ashlar::cli
