// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of `ashlar record` with thousands of threads: the recorder costs each of them little, and none waits by turns.
#include <algorithm>
#include <string>

#include <sys/resource.h>

#include <gtest/gtest.h>

#include "cli/tests/record/command.hpp"

namespace {

using namespace ashlar_test;

class record_many_threads : public record_command {
protected:
  /// Returns: the seconds that processors spent on a shell command, the least of some rounds.
  double seconds_of(const std::string& command, int rounds) {
    double least = 1e9;
    for (; rounds > 0; --rounds) {
      const double before = seconds_of_children();
      EXPECT_EQ(shell(command), 0) << output();
      least = std::min(least, seconds_of_children() - before);
    }
    return least;
  }

  /// A program of threads that only start, allocate and end: at most three times the time that it takes alone. The
  /// addition is the start and the end of the command.
  void expect_little_cost(const std::string& mode, std::size_t allocations, int rounds) {
    const double alone = seconds_of(ASHLAR_VICTIM " " + mode, rounds);
    const double recorded =
        seconds_of("timeout 60 " ASHLAR_COMMAND " record -q -o " + file() + " -- " ASHLAR_VICTIM " " + mode, rounds);
    EXPECT_LE(recorded, 3 * alone + 0.4) << "alone " << alone;
    EXPECT_EQ(recording(file()).count(operation::malloc_, 32'001), allocations);
  }

private:
  static double seconds_of_children() {
    rusage used{};
    getrusage(RUSAGE_CHILDREN, &used);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
  }
};

TEST_F(record_many_threads, a_thousand_threads_cost_little) { expect_little_cost("thousand_threads", 100'000, 3); }
TEST_F(record_many_threads, five_thousand_threads_cost_little) {
  expect_little_cost("five_thousand_threads", 500'000, 1);
}

}  // namespace
