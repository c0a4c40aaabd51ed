// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The predictions of a replay of the trace for each allocator that can be preloaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ashlar::cli {

/// Against glibc.
struct prediction {
  std::string name;
  std::string library;
  std::string command = {};    ///< Runs a program under it; empty: LD_PRELOAD alone does.
  std::string failure = {};    ///< If not empty, no other member is valid.
  double saved_least_ms = 0;   ///< Of the busiest thread; negative: a loss.
  double saved_most_ms = 0;    ///< Of all threads one after the other.
  double peak_bytes_more = 0;  ///< Resident at the peak.
  double system_saved_ms = 0;  ///< Of all threads, in the kernel.
  double loading_ms = 0;       ///< Processor time until the library is ready.
  double loading_bytes = 0;    ///< Resident then.
};

struct trace_predictions {
  std::string program;             ///< The recorded command line.
  std::uint64_t threads = 0;       ///< Peak of the live threads.
  std::vector<prediction> all;     ///< The largest saving first.
  std::string unknown_build = {};  ///< That nothing shows that the program is the recorded one, or empty.
};

/// Returns: the names that can be preloaded; of the usual allocators on this machine if there are no names. Throws:
/// `unknown_allocator`, also for one that cannot be preloaded; `std::runtime_error` for a missing library.
[[nodiscard]] std::vector<std::string> preloadable_names(const std::vector<std::string>& names);

/// Returns: the JSON of `ashlar replay` with these words, in a separate process. Throws: `std::runtime_error` if it
/// fails.
[[nodiscard]] std::string replay_output(const std::vector<std::string>& words);

/// Effects: replays the trace in a separate process, so that its memory does not count into later measurements. Throws:
/// `std::runtime_error` if it fails.
[[nodiscard]] trace_predictions predict(const std::string& trace, const std::vector<std::string>& names,
                                        const std::vector<std::string>& replay_options);

/// Returns: the predictions in the JSON of a replay, for each candidate except glibc.
[[nodiscard]] trace_predictions read_predictions(const std::string& replay_json);

}  // namespace ashlar::cli
