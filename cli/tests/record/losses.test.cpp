// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of recordings whose processes end without writing: the summary names each, and the status tells.
#include "cli/record/losses.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/tests/record/command.hpp"

namespace {

using namespace ashlar_test;
using ashlar::cli::find_losses;
using ashlar::cli::record_status;
using ashlar::cli::recording_summary;

class record_losses : public record_command {
protected:
  int record_workers(const std::string& way) {
    return shell(ASHLAR_COMMAND " record -o " + file() + " -- " ASHLAR_PREFORK_VICTIM " " + way);
  }
};

TEST_F(record_losses, of_workers_ended_by_signals_are_named) {
  for (const std::string way : {"term", "kill"}) {
    EXPECT_EQ(record_workers(way), not_whole) << output();
    EXPECT_TRUE(says("the recording is incomplete: process ")) << output();
    const std::string all = output();
    std::size_t named = 0;
    for (std::size_t at = all.find("has no trace"); at != all.npos; at = all.find("has no trace", at + 1)) ++named;
    EXPECT_EQ(named, 4U) << all;
    EXPECT_TRUE(says("up to 4,096 events; the program's own exit status is 0")) << all;
  }
}

TEST_F(record_losses, workers_that_end_in_order_lack_nothing) {
  for (const std::string way : {"exit", "exec"}) {
    EXPECT_EQ(record_workers(way), 0) << output();
    EXPECT_FALSE(says("incomplete")) << output();
  }
}

TEST_F(record_losses, events_of_workers_are_counted) {
  ASSERT_EQ(record_workers("exit"), 0);
  EXPECT_TRUE(says("; 4 more processes in " + file() + ".*: 3,00")) << output();
}

TEST_F(record_losses, traces_named_by_process_ids_are_found_too) {
  EXPECT_EQ(shell(ASHLAR_COMMAND " record -o " + file("x-%p.trace") + " -- " ASHLAR_PREFORK_VICTIM " exit"), 0);
  EXPECT_TRUE(says("; 4 more processes in " + file("x-*.trace") + ": 3,00")) << output();
  const std::string killed = "sh -c '" ASHLAR_VICTIM " killed; " ASHLAR_VICTIM " forms'";
  EXPECT_EQ(shell(ASHLAR_COMMAND " record -o " + file("y-%p.trace") + " -- " + killed), not_whole);
  EXPECT_TRUE(says("system call of its own: " + file("y-"))) << output();
  EXPECT_FALSE(says("has no trace")) << output();
}

TEST_F(record_losses, of_the_killed_program_itself_leave_its_status) {
  ASSERT_EQ(record_victim("killed", "-q"), 128 + 9);
  EXPECT_TRUE(says("was killed or ended by a system call of its own: " + file() + " lacks up to 4,096 events\n"))
      << output();
}

TEST(losses, are_sentences_for_any_number) {
  recording_summary sum;
  sum.has_trace = true;
  sum.others = {{.path = "t.8", .process = 8, .events = 1}};
  const auto text = [&](const std::vector<record_status::unfinished>& all) {
    return find_losses(all, {.process = 7, .status = 137}, "t", sum).text;
  };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({{.process = 7, .threads = 1}}),
            "process 7 was killed or ended by a system call of its own: t lacks up to 4,096 events");
  EXPECT_EQ(text({{.process = 8, .threads = 3, .is_running = true}}),
            "process 8 is still running: t.8 lacks up to 4,096 events of each of its 3 threads");
  EXPECT_EQ(text({{.process = 9, .threads = 0, .is_running = true}}),
            "process 9 is still running, and has no trace: it lacks up to 4,096 events");
  std::vector<record_status::unfinished> many(5, {.process = 9, .threads = 1, .is_running = true});
  EXPECT_FALSE(find_losses(many, {.process = 7}, "t", sum).is_untold);
  EXPECT_TRUE(text(many).ends_with("; likewise 1 more process"));
  many.push_back({.process = 9, .threads = 1});
  EXPECT_TRUE(text(many).ends_with("; likewise 2 more processes"));
  EXPECT_TRUE(find_losses(many, {.process = 7}, "t", sum).is_untold);
  EXPECT_FALSE(find_losses({{.process = 7, .threads = 1}}, {.process = 7, .status = 137}, "t", sum).is_untold);
  EXPECT_TRUE(find_losses({{.process = 7, .threads = 1}}, {.process = 7, .status = 0}, "t", sum).is_untold);
}

}  // namespace
