// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a function in a forked child and returns its success.
#pragma once

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/deadline.hpp"

namespace ashlar_test {

/// Returns: whether `f()` returned true in a forked child, within two minutes. The child ends without destructors.
template <class F>
[[nodiscard]] bool child_does(F f) {
  const pid_t child = ::fork();
  if (child == 0) {
    const deadline soon(120);
    ::syscall(SYS_exit_group, f() ? 0 : 1);  // TSan would miss the parent's threads at an _exit
  }
  int status = -1;
  return child != -1 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace ashlar_test
