// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs that die in every way under `ashlar record`: they end as they do without it, and leave a readable trace.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "cli/tests/record/command.hpp"

namespace {

using namespace ashlar_test;

constexpr std::size_t blocks = 20'000;
constexpr std::uint64_t block_bytes = 50'003;
constexpr std::size_t most_lost = 4096;  // events outside of any chunk

struct way_to_die {
  const char* name;
  bool has_warning;  // the recorder learns of the end and writes its events; of a signal, even SIGABRT, it does not
};

void PrintTo(const way_to_die& way, std::ostream* to) { *to << way.name; }

class record_deaths : public record_command, public testing::WithParamInterface<way_to_die> {};

TEST_P(record_deaths, end_as_without_it_and_leave_a_trace_that_can_be_read) {
  const std::string program = ASHLAR_DEATHS " " + std::string(GetParam().name);
  const int alone = shell("ulimit -c 0; " + program + "; exit $?");
  EXPECT_EQ(shell("ulimit -c 0; " ASHLAR_COMMAND " record --stacks 0 -o " + file() + " -- " + program), alone)
      << output();
  const recording trace(file());
  const std::size_t recorded = trace.count(operation::malloc_, block_bytes);
  if (GetParam().has_warning) EXPECT_GE(recorded, blocks);
  EXPECT_GE(recorded, blocks - most_lost);
  EXPECT_EQ(trace.complete, GetParam().has_warning);
  EXPECT_EQ(shell(ASHLAR_COMMAND " report --damaged " + file()), 0) << output();
}

INSTANTIATE_TEST_SUITE_P(
    ways, record_deaths,
    testing::Values(way_to_die{"returns", true}, way_to_die{"exit", true}, way_to_die{"_exit", true},
                    way_to_die{"quick_exit", true}, way_to_die{"abort", false}, way_to_die{"terminate", false},
                    way_to_die{"exception", false}, way_to_die{"SIGKILL", false}, way_to_die{"SIGSEGV", false},
                    way_to_die{"SIGBUS", false}, way_to_die{"SIGFPE", false}, way_to_die{"SIGILL", false},
                    way_to_die{"SIGTERM", false}, way_to_die{"SIGINT", false}, way_to_die{"SIGPIPE", false},
                    way_to_die{"stack_overflow", false}, way_to_die{"limit_of_time", false},
                    way_to_die{"exit_in_atexit", true}, way_to_die{"exit_in_static_destructor", true},
                    way_to_die{"exit_in_signal_handler", true}, way_to_die{"exit_in_thread", true},
                    way_to_die{"exit_beside_thread", true}, way_to_die{"_exit_beside_thread", true},
                    way_to_die{"main_thread_ends_first", true}, way_to_die{"fork_and_child_exit", true},
                    way_to_die{"fork_and_child_abort", true}, way_to_die{"vfork_and_exec", true},
                    way_to_die{"daemon", true}, way_to_die{"closes_all_and_exits", true},
                    way_to_die{"no_more_files", true}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
