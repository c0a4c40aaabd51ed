// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The traces of one recording, one for each process, and the choice among them. Files belong together by the number of
// the recording in their headers: a folder may have older ones of the same names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace ashlar::cli {

/// The trace of a process, by its headers.
struct process_trace {
  std::string path;
  std::uint32_t process = 0;
  std::uint64_t events = 0;
  std::uint64_t session = 0;        ///< Of the recording; 0: unknown.
  std::uint64_t start_ns = 0;       ///< Monotonic clock at its time 0.
  std::uint64_t start_unix_ns = 0;  ///< Wall clock at that time.
  std::string program = {};         ///< Its command line.
  std::string name = {};            ///< The same, without the folder of the program.
  bool is_first = false;            ///< The recording began with it.
};

/// Returns: "10865 (planted -x), 969,123 events".
[[nodiscard]] std::string title_of(const process_trace& t);

/// Returns: the facts of a trace; all zero if the file is none.
[[nodiscard]] process_trace read_process_trace(const std::string& path);

/// Returns: the traces of the recording beside `own`, but for that itself, the one with the most events first. `output`
/// is the name that `ashlar record` was given, "%p" in it stands for a process id.
[[nodiscard]] std::vector<process_trace> find_other_processes(const std::string& own, const std::string& output,
                                                              std::uint64_t session);

/// Returns: whether a file of this name is `own`, or may be a trace beside it.
[[nodiscard]] bool is_name_of_recording(const std::string& name, const std::string& own, const std::string& output);

/// Returns: the pattern of all their names.
[[nodiscard]] std::string pattern_of_names(const std::string& own, const std::string& output);

/// The process that was asked for: of the first one's trace all of its recording are candidates.
struct process_choice {
  process_trace taken;                ///< Alone it has a path, and its header may be unread.
  std::vector<process_trace> others;  ///< Of the same recording.
  std::string text;                   ///< A sentence about the choice; empty if there was none.
};

/// Returns: the process that `wish` names: "largest", also if it is empty, "root" or a process id. Throws:
/// `std::runtime_error`, with the processes, if there is none.
[[nodiscard]] process_choice choose_process(const std::string& path, const std::string& wish);

/// Throws: `usage_error` for a wish that names no process of a recording in files.
void require_process_wish(const std::string& wish, const std::string& verb);

/// Returns: the chosen trace and the others, for `--json`; null if there was no choice.
[[nodiscard]] nlohmann::json processes_json(const process_choice& choice);

}  // namespace ashlar::cli
