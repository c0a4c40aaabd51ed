// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a program unchanged, with a library preloaded or none, and measures all of it.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "cli/support/temporary.hpp"

namespace ashlar::cli {

struct program_run {
  double wall_ms = 0;
  double cpu_ms = 0;       ///< User and system, of the program and of its awaited children.
  double system_ms = 0;    ///< Of that in the kernel.
  double faults = 0;       ///< Page faults that needed no disk.
  double peak_bytes = 0;   ///< Resident, of its largest process.
  double after_bytes = 0;  ///< Resident after the peak, of the started process: the median of samples after the
                           ///< largest, a hundred a second; `peak_bytes` if there are fewer than four.
  int status = 0;          ///< Exit status, or 128 + the signal that ended it.
  std::uint64_t output_bytes = 0;
  std::uint64_t output_sum = 0;  ///< Of its standard output.
  std::string last_words;        ///< The last line of its standard error.
  bool killed = false;           ///< It took longer than the setting allows.
  std::size_t left_behind = 0;   ///< Processes that it did not wait for, if this process is their reaper.

  std::map<std::string, double> spans = {};  ///< The 99th percentile of the durations of each name, in nanoseconds.

  [[nodiscard]] double user_ms() const noexcept { return cpu_ms - system_ms; }
  [[nodiscard]] bool same_output(const program_run& other) const noexcept {
    return output_bytes == other.output_bytes && output_sum == other.output_sum;
  }
};

/// Returns: the last line of a file that a process has written to, without its end.
[[nodiscard]] std::string last_line(const temporary_file& file);

/// Returns: "died of signal 11: last words" or "ended with status 3".
[[nodiscard]] std::string ending_of(const program_run& run);

/// What a run has beside its program.
struct run_setting {
  std::vector<std::string> libraries;  ///< Come first in LD_PRELOAD, in this order; an empty one is none.
  std::vector<std::pair<std::string, std::string>> variables;  ///< Of the environment.
  double most_seconds = 0;                                     ///< A run that takes longer is killed; 0: none is.
};

/// Each run's standard input is a file from its start, or empty; its output and errors do not reach the terminal.
class program_runner {
public:
  program_runner(std::vector<std::string> command, std::string input)
      : command_(std::move(command)), input_(input.empty() ? "/dev/null" : std::move(input)) {}

  /// Effects: if this process is the reaper of its descendants (PR_SET_CHILD_SUBREAPER), all that the program leaves
  /// behind is killed. Throws: `std::runtime_error` if it cannot be started. Expects: as a reaper, no other children.
  [[nodiscard]] program_run run(const run_setting& setting);

private:
  [[noreturn]] void become(const run_setting& setting, int report, pid_t parent) const;

  std::vector<std::string> command_;
  std::string input_;
  temporary_file output_;
  temporary_file errors_;
};

}  // namespace ashlar::cli
