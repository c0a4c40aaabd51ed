// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the fork handlers: all participants are called, in order and step by step, in parent and child.
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/detail/thread/fork.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::detail::fork_participant;
using ashlar::detail::fork_participants;
using ashlar::detail::fork_step;

std::string said;

fork_participant speaker(const char* name) {
  return {.before =
              [](void* self, fork_step step) noexcept {
                said += std::string("<") + static_cast<const char*>(self) + std::to_string(static_cast<int>(step));
              },
          .in_parent = [](void* self) noexcept { said += std::string(">") + static_cast<const char*>(self); },
          .in_child = [](void* self) noexcept { said += std::string("|") + static_cast<const char*>(self); },
          .self = const_cast<char*>(name)};
}

// Returns: whether the child saw `expected`.
bool child_says(const std::string& expected) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(said == expected ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(fork, calls_everybody_step_by_step_in_the_order_of_entering) {
  fork_participant first = speaker("a");
  fork_participant second = speaker("b");
  fork_participants::enter(first);
  fork_participants::enter(second);
  fork_participants::enter(first);  // the second entry has no effect
  said.clear();
  EXPECT_TRUE(child_says("<a0<b0<a1<b1<a2<b2<a3<b3|a|b"));
  EXPECT_EQ(said, "<a0<b0<a1<b1<a2<b2<a3<b3>a>b");
  fork_participants::leave(first);
  fork_participants::leave(first);  // the second leave has no effect
  said.clear();
  EXPECT_TRUE(child_says("<b0<b1<b2<b3|b"));
  EXPECT_EQ(said, "<b0<b1<b2<b3>b");
  fork_participants::leave(second);
  said.clear();
  EXPECT_TRUE(child_says(""));
}

TEST(fork, many_handlers_begin_and_end_one_fork_of_one_thread) {
  ashlar::detail::fork_turn turn;
  EXPECT_FALSE(turn.is_mine());
  turn.begin();
  turn.begin();
  EXPECT_TRUE(turn.is_mine());
  std::thread([&turn] { EXPECT_FALSE(turn.is_mine()); }).join();
  EXPECT_FALSE(turn.end());
  EXPECT_TRUE(turn.is_mine());
  EXPECT_TRUE(turn.end());
  EXPECT_FALSE(turn.is_mine());
}

TEST(fork, an_entry_that_left_may_enter_again_as_the_last) {
  fork_participant first = speaker("a");
  fork_participant second = speaker("b");
  fork_participants::enter(first);
  fork_participants::enter(second);
  fork_participants::leave(first);
  ASSERT_EQ(first.next, nullptr);  // else the list would have no end after it enters again
  fork_participants::enter(first);
  said.clear();
  EXPECT_TRUE(child_says("<b0<a0<b1<a1<b2<a2<b3<a3|b|a"));
  fork_participants::leave(second);
  fork_participants::leave(first);
}

TEST(fork, the_child_may_enter_leave_and_fork_again) {
  fork_participant first = speaker("a");
  fork_participants::enter(first);
  const pid_t child = ::fork();
  if (child == 0) {
    fork_participant more = speaker("b");
    fork_participants::enter(more);
    said.clear();
    const bool good = child_says("<a0<b0<a1<b1<a2<b2<a3<b3|a|b");
    fork_participants::leave(more);
    fork_participants::leave(first);
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  fork_participants::leave(first);
}

#if __has_include(<sys/single_threaded.h>)
TEST(fork, of_the_only_thread_takes_no_locks_where_that_is_wished) {
  if constexpr (ashlar_test::has_tsan) GTEST_SKIP() << "ThreadSanitizer has a thread of its own";
  const auto forks_alone_and_not_alone = [] {
    fork_participant first = speaker("a");
    fork_participants::enter(first);
    fork_participants::spare_only_thread();
    said.clear();
    bool good = child_says("") && said.empty();
    std::thread([] {}).join();
    good = good && child_says("<a0<a1<a2<a3|a") && said == "<a0<a1<a2<a3>a";
    ::_exit(good ? 0 : 1);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process: in this one other tests have had threads
  EXPECT_EXIT(forks_alone_and_not_alone(), testing::ExitedWithCode(0), "");
}
#endif

TEST(fork, handlers_installed_at_the_start_are_the_only_ones) {
  fork_participants::install_at_start();
  fork_participants::install_at_start();
  fork_participants::leave_to_start();
  fork_participant first = speaker("a");
  fork_participants::enter(first);
  said.clear();
  EXPECT_TRUE(child_says("<a0<a1<a2<a3|a"));
  fork_participants::leave(first);
}

}  // namespace
