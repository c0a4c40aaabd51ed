// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Starts the command again, for a part of its work: by vfork, since its memory may be large; the child calls the system
// alone.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include "cli/support/text.hpp"

namespace ashlar::cli {

/// A part of the work as a process of its own.
struct own_part {
  std::vector<std::string> arguments = {};    ///< The first one is the name of the command.
  std::vector<std::string> environment = {};  ///< Entries "name=value".
  int from = -1;                              ///< A descriptor that the part has as `to`.
  int to = -1;
  int input = -1;  ///< A descriptor that the part has as standard input; -1: as this process has it.
};

/// Effects: starts the part, which is killed as soon as the calling thread ends: a command that is ended leaves none
/// behind. Returns: its process id. Throws: `std::runtime_error`.
[[nodiscard]] inline pid_t start_self(own_part& part) {
  const std::vector<char*> arguments = pointers(part.arguments), environment = pointers(part.environment);
  volatile int error = 0;
  const pid_t parent = ::getpid(), child = ::vfork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent && (part.input < 0 || ::dup2(part.input, STDIN_FILENO) == STDIN_FILENO) &&
        ::dup2(part.from, part.to) == part.to)
      ::execve("/proc/self/exe", arguments.data(), environment.data());
    error = errno;
    ::_exit(127);
  }
  const int failed = child < 0 ? errno : error;
  if (failed != 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(failed));
  return child;
}

}  // namespace ashlar::cli
