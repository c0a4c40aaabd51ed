// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs shell commands; kills a command after five minutes, with all its processes.
#pragma once

#include <cstdlib>
#include <string>

#include <sys/wait.h>

#include "cli/support/words.hpp"

namespace ashlar_test {

/// Returns: the exit status of the command; 128 + 9 or -1 after a timeout.
[[nodiscard]] inline int run_shell(const std::string& command) {
  const int status = std::system(("timeout -s KILL 300 sh -c " + ashlar::cli::quoted(command)).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace ashlar_test
