// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The spans of one run, from the clock that is preloaded into its program.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "cli/support/temporary_file.hpp"

namespace ashlar::cli {

inline constexpr const char* span_library = "libashlar-spans.so";

/// The 99th percentile of the durations of each span name in one run, in nanoseconds.
using span_tails = std::map<std::string, double>;

class span_recording {
public:
  /// Effects: makes the file that a program's span clock writes to. Throws: `std::runtime_error`.
  span_recording();

  /// Returns: the variable that leads the clock to the file.
  [[nodiscard]] std::pair<std::string, std::string> variable() const;
  /// Returns: the tails, after the run; of its first million spans. Throws: `std::runtime_error`.
  [[nodiscard]] span_tails tails() const;

private:
  temporary_file file_;
};

}  // namespace ashlar::cli
