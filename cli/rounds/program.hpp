// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a program unchanged, with a library preloaded or none, and measures all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/support/temporary_file.hpp"

namespace ashlar::cli {

struct program_run {
  double wall_ms = 0;
  double cpu_ms = 0;      ///< User and system, of the program and of its awaited children.
  double system_ms = 0;   ///< Of that in the kernel.
  double faults = 0;      ///< Page faults that needed no disk.
  double peak_bytes = 0;  ///< Resident, of its largest process.
  int status = 0;         ///< Exit status, or 128 + the signal that ended it.
  std::uint64_t output_bytes = 0;
  std::uint64_t output_sum = 0;  ///< Of its standard output.
  std::string last_words;        ///< The last line of its standard error.

  [[nodiscard]] double user_ms() const noexcept { return cpu_ms - system_ms; }
  [[nodiscard]] bool same_output(const program_run& other) const noexcept {
    return output_bytes == other.output_bytes && output_sum == other.output_sum;
  }
};

/// Returns: "died of signal 11: last words" or "ended with status 3".
[[nodiscard]] std::string ending_of(const program_run& run);

/// The surroundings of each run: standard input is a file from its start, or empty; standard output and error do not
/// reach the terminal.
class program_runner {
public:
  program_runner(std::vector<std::string> command, std::string input)
      : command_(std::move(command)), input_(input.empty() ? "/dev/null" : std::move(input)) {}

  /// `library` comes first in LD_PRELOAD; without one the program runs with its own malloc. A variable of `padding`
  /// bytes in the environment, if not 0, moves the program's stack. Throws: `std::runtime_error` if the program cannot
  /// be started.
  [[nodiscard]] program_run run(const std::string& library, std::size_t padding = 0);

private:
  [[noreturn]] void become(const std::string& library, std::size_t padding, int report) const;

  std::vector<std::string> command_;
  std::string input_;
  temporary_file output_;
  temporary_file errors_;
};

}  // namespace ashlar::cli
