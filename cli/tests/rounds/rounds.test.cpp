// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the number of rounds, and of what starts a program and waits for it.
#include <chrono>
#include <csignal>
#include <cstddef>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <sys/time.h>

#include "cli/rounds/program.hpp"
#include "cli/rounds/rounds.hpp"

namespace {

using namespace ashlar::cli;

TEST(rounds, are_as_many_as_the_limits_and_the_pilot_allow) {
  struct entry {
    const char* name;
    round_limits limits;
    std::size_t wanted, played, planned;
  };
  for (const entry& e :
       {entry{"exactly", {.rounds = 5, .seconds = 0}, 20, 5, 5},
        {"by the pilot", {}, 20, 20, 20},
        {"the budget has the least alone", {.seconds = 1e-9}, 20, 6, 20},
        {"the same of three", {.seconds = 1e-9, .least = 3}, 20, 3, 0},
        {"none that is estimated to exceed it", {.seconds = 1, .least = 0, .seconds_of_round = 2}, 20, 0, 0},
        {"one that is estimated to fit", {.seconds = 1e-9, .least = 0, .seconds_of_round = 1e-9}, 20, 1, 0},
        {"no more than the most", {.most = 9}, 0, 9, 0}}) {
    std::size_t calls = 0, most_of_all = 0;
    const auto play = [&](std::size_t number, std::size_t most) {
      EXPECT_EQ(number, calls++) << e.name;
      EXPECT_LT(number, most) << e.name;
      most_of_all = most;
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    };
    const rounds_played done = play_rounds(e.limits, play, [&e] { return e.wanted; });
    EXPECT_EQ(done.rounds, e.played) << e.name;
    EXPECT_EQ(done.planned, e.planned) << e.name;
    EXPECT_EQ(calls, e.played) << e.name;
    if (e.played != 0 && e.limits.seconds > 1e-3) EXPECT_EQ(most_of_all, e.played) << e.name;
  }
}

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
