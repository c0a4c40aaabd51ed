// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A recording that is a directory: a numbered trace for each process, and index.jsonl, a line for each. The index saves
// the reading of all events; where it is absent, or contradicts a trace, the trace is read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/record/processes.hpp"
#include "cli/record/recording.hpp"

namespace ashlar::cli {

/// A process of the recording; after an exec it is another one of the same id. Times are of the wall clock.
struct tree_process {
  std::size_t number = 0;  ///< From 1, by start.
  std::uint32_t pid = 0;
  std::uint32_t ppid = 0;  ///< 0: the recording began with it.
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;  ///< Of its last event.
  std::string argv0 = {};
  std::string cmd = {};
  std::string exe = {};
  std::string build_id = {};
  std::string file = {};  ///< Its trace, in the directory.
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;         ///< Allocated.
  std::uint64_t peak_bytes = 0;    ///< Live at once.
  std::optional<int> status = {};  ///< As `wait` tells it; nothing where its parent alone was told.
  bool complete = false;
  std::uint64_t lost = 0;

  /// Returns: the name of its executable, without the folder.
  [[nodiscard]] std::string name() const;
};

/// Processes of one build, the one with the most events first.
struct tree_group {
  std::string exe;
  std::string build_id;
  std::vector<const tree_process*> processes;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::uint64_t peak_bytes = 0;  ///< Of a process, the greatest.

  [[nodiscard]] std::string name() const;
};

struct process_tree {
  std::string directory;
  std::vector<tree_process> processes;  ///< By number.
  std::vector<std::string> notes;       ///< About files that do not belong to it, and about the index.
  std::uint64_t events = 0;

  /// Returns: the path of a process's trace.
  [[nodiscard]] std::string path_of(const tree_process& p) const;
};

/// Returns: whether a name that `-o` gives, or an argument, stands for such a recording.
[[nodiscard]] bool is_tree(const std::string& path);

/// Effects: makes the directory. Returns: the pattern of the traces of processes that run. Throws:
/// `std::runtime_error` if it cannot be made, or has a recording.
[[nodiscard]] std::string prepare_tree(const std::string& directory);

/// Effects: gives the traces of the recording `session` their numbers, but those of processes that still write, and
/// writes the index. Returns: the recording.
process_tree finish_tree(const std::string& directory, std::uint64_t session, const child_result& result);

/// Throws: `std::runtime_error` if the directory has no trace that can be read.
[[nodiscard]] process_tree read_tree(const std::string& directory);

/// Returns: the process that `wish` names: "largest", "root", a number, a process id, or the name of a program, of
/// which the one with the most events is taken. Throws: `std::runtime_error` if there is none.
[[nodiscard]] const tree_process& choose_process(const process_tree& tree, const std::string& wish);

/// As `choose_process` of a file or, if `recording` is a directory, of its processes.
[[nodiscard]] process_choice choose_process_of(const std::string& recording, const std::string& wish);

/// Returns: the processes by build, the group with the most events first.
[[nodiscard]] std::vector<tree_group> groups_of(const process_tree& tree);

/// Returns: a bound of the bytes of all processes that were live at once: the greatest sum of the peaks of processes
/// whose times overlap.
[[nodiscard]] std::uint64_t peak_of(const process_tree& tree);

/// Returns: "largest: cc1plus (2 of 9), 352,746 of 353,900 events".
[[nodiscard]] std::string largest_text(const process_tree& tree);

[[nodiscard]] std::string tree_text(const process_tree& tree);
[[nodiscard]] nlohmann::json tree_json(const process_tree& tree);

/// The line of an index.
[[nodiscard]] nlohmann::json index_json(const tree_process& p);

/// Returns: the process of a line; nothing if it is none.
[[nodiscard]] std::optional<tree_process> parse_index_line(const std::string& line);

}  // namespace ashlar::cli
