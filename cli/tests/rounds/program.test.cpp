// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of what starts a program and waits for it.
#include "cli/rounds/program.hpp"

#include <csignal>
#include <stdexcept>

#include <sys/time.h>

#include <gtest/gtest.h>

namespace {

using namespace ashlar::cli;

/// A signal during the wait for the child's exec must not end the wait.
TEST(program_runner, a_signal_does_not_hide_that_a_program_cannot_be_started) {
  struct sigaction handler{};
  struct sigaction before{};
  handler.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGALRM, &handler, &before), 0);
  const itimerval often{{0, 500}, {0, 500}}, never{};
  for (int i = 0; i < 50; ++i) {
    program_runner runner({"/nonesuch/program"}, "");
    ::setitimer(ITIMER_REAL, &often, nullptr);
    EXPECT_THROW(static_cast<void>(runner.run({})), std::runtime_error);
    ::setitimer(ITIMER_REAL, &never, nullptr);
  }
  ::sigaction(SIGALRM, &before, nullptr);
}

}  // namespace
