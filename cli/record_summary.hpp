// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one line that `ashlar record` prints when the recorded program has ended.
#pragma once

#include <filesystem>
#include <string>

namespace ashlar::cli {

/// Returns: events, threads and bytes of the trace at `path`, and how many other processes left traces beside it
/// since `start`; or why there is nothing to tell.
[[nodiscard]] std::string summarise_recording(const std::string& path, std::filesystem::file_time_type start);

}  // namespace ashlar::cli
