// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the recorded program in place of this one, as far as its user can see.
#pragma once

#include <string>
#include <vector>

namespace ashlar::cli {

struct record_options {
  std::string library;  ///< Preloaded; absolute.
  std::string output;   ///< The trace, absolute.
  std::string status;   ///< The id of a `record_status`; may be empty.
  unsigned stack_depth = 0;
  std::vector<std::string> program;  ///< With its arguments.
};

/// The outcome: `error` is 0 or the errno of a failed start.
struct child_result {
  int error = 0;
  int process = 0;
  int status = 0;  ///< Exit status, or 128 + the signal that ended it.
};

/// Effects: runs the program with unchanged stdin, stdout and stderr, passes on SIGTERM and SIGHUP, waits for it.
[[nodiscard]] child_result run_recorded(const record_options& options);

}  // namespace ashlar::cli
