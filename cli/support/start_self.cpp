// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// vfork, since the memory of the command may be large: its child calls the system alone.
#include "cli/support/start_self.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include <sys/prctl.h>
#include <unistd.h>

namespace ashlar::cli {

namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> all;
  for (std::string& s : strings) all.push_back(s.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

pid_t start_self(own_part& part) {
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
