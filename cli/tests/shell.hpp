// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs shell commands; kills a command after five minutes, with all its processes.
#pragma once

#include <cstdlib>
#include <string>

#include <sys/wait.h>

namespace ashlar_test {

/// Returns: `text` as one word of a shell.
[[nodiscard]] inline std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

/// Returns: the exit status of the command; 128 + 9 or -1 after a timeout.
[[nodiscard]] inline int run_shell(const std::string& command) {
  const int status = std::system(("timeout -s KILL 300 sh -c " + quoted(command)).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace ashlar_test
