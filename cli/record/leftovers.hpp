// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What killed processes had recorded: it goes from their live files to their traces.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace ashlar::cli {

/// Effects: appends the live files of processes that have ended, of the recording `session`, or of any if it is 0, to
/// their traces, which are made where there are none, and removes them. `path` is the trace of the recorded program,
/// `output` the name as it was given. Returns: the processes whose traces lack nothing now.
std::set<int> take_leftovers(const std::string& path, const std::string& output, std::uint64_t session);

}  // namespace ashlar::cli
