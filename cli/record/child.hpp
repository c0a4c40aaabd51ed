// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the program that is recorded, in its place as far as its user can tell.
#pragma once

#include <string>
#include <vector>

namespace ashlar::cli {

struct record_options {
  std::string library;  ///< What to preload, absolute.
  std::string output;   ///< The trace, absolute.
  std::string status;   ///< The id of a `record_status`; may be empty.
  unsigned stack_depth = 0;
  std::vector<std::string> program;  ///< With its arguments.
};

/// How it went: `error` is 0 or the errno with which the program could not be started.
struct child_result {
  int error = 0;
  int process = 0;
  int status = 0;  ///< Exit status, or 128 + the signal that ended it.
};

/// Effects: runs the program with stdin, stdout and stderr as they are, passes on SIGTERM and SIGHUP, waits for it.
[[nodiscard]] child_result run_recorded(const record_options& options);

}  // namespace ashlar::cli
