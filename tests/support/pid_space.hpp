// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Child processes in PID namespaces of their own, as containers have: each is number 1 there, and so is its thread.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace ashlar_test {

/// As `fork`, with the child as the first process of a new PID namespace. Returns: also -1 where the system does not
/// let the user do so.
[[nodiscard]] inline pid_t fork_in_new_pid_space() {
#if defined(CLONE_NEWPID)
  const int own = ::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
  if (own < 0) return -1;
  const bool is_new = ::unshare(CLONE_NEWPID) == 0;
  const pid_t child = is_new ? ::fork() : -1;
  if (is_new && child != 0) static_cast<void>(::setns(own, CLONE_NEWPID));
  ::close(own);
  return child;
#else
  return -1;
#endif
}

}  // namespace ashlar_test
