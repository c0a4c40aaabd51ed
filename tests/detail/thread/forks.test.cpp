// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of forks: handlers, the gate, locks that a fork takes or waits for, and the registry of slabs.
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>

#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"
#include "tests/support/deadline.hpp"

namespace {

using ashlar::detail::fork_participant;
using ashlar::detail::fork_participants;
using ashlar::detail::fork_step;
using ashlar_test::child_does;

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
  return child_does([&] { return said == expected; });
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
  EXPECT_TRUE(child_does([&] {
    fork_participant more = speaker("b");
    fork_participants::enter(more);
    said.clear();
    const bool good = child_says("<a0<b0<a1<b1<a2<b2<a3<b3|a|b");
    fork_participants::leave(more);
    fork_participants::leave(first);
    return good;
  }));
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

// Under a lock for which the fork may wait.
TEST(fork, lets_nobody_wait_who_only_tries_to_enter) {
  const ashlar_test::deadline hang;
  static fork_participant late = speaker("late");
  static bool has_entered = true;
  fork_participant first = {
      .before = [](void*, fork_step) noexcept { has_entered = fork_participants::try_enter(late); },
      .in_parent = [](void*) noexcept {},
      .in_child = [](void*) noexcept {}};
  fork_participants::enter(first);
  said.clear();
  EXPECT_TRUE(child_says(""));
  EXPECT_FALSE(has_entered);
  fork_participants::leave(first);
  EXPECT_TRUE(fork_participants::try_enter(late));
  EXPECT_TRUE(child_says("<late0<late1<late2<late3|late"));
  fork_participants::leave(late);
}

TEST(fork, lets_those_enter_who_only_try_beside_others_who_enter) {
  const ashlar_test::deadline hang;
  std::atomic<bool> stop = false, has_begun = false;
  std::thread entering([&] {
    for (fork_participant one = speaker("one"); !stop; has_begun = true)
      fork_participants::enter(one), fork_participants::leave(one);
  });
  while (!has_begun) std::this_thread::yield();
  constexpr int rounds = 20'000;
  int refused = 0;
  for (int i = 0; i < rounds; ++i) {
    fork_participant mine = speaker("mine");
    if (!fork_participants::try_enter(mine)) ++refused;
    fork_participants::leave(mine);
  }
  stop = true;
  entering.join();
  EXPECT_LT(refused, rounds / 200) << "none, unless the system stops the other one that long";
}

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

using ashlar::detail::fork_gate;

TEST(fork_gate, closes_while_no_thread_is_inside) {
  const ashlar_test::deadline hang;
  fork_gate gate;
  gate.close();
  gate.open();
  std::atomic<bool> is_inside = true, is_closed = false;
  gate.enter();
  std::thread closing([&] {
    gate.close();
    is_closed = !is_inside;
    gate.open();
  });
  gate.enter();  // gives way for a moment, and then is not held up
  gate.leave();
  EXPECT_FALSE(is_closed);
  is_inside = false;
  gate.leave();
  closing.join();
  EXPECT_TRUE(is_closed);
}

TEST(fork_gate, lets_none_in_until_it_opens) {
  const ashlar_test::deadline hang;
  fork_gate gate;
  std::atomic<bool> is_closed = true;
  gate.close();
  std::thread entering([&] {
    gate.enter();
    EXPECT_FALSE(is_closed);
    gate.leave();
  });
  std::this_thread::yield();
  is_closed = false;
  gate.open();
  entering.join();
}

TEST(fork_gate, closes_beside_threads_that_are_inside_most_of_the_time) {
  const ashlar_test::deadline hang;
  fork_gate gate;
  std::atomic<bool> stop = false;
  std::atomic<int> begun = 0;
  const auto enter_often = [&] {
    for (++begun; !stop;) {
      gate.enter();
      std::this_thread::yield();
      gate.leave();
    }
  };
  std::thread one(enter_often), two(enter_often), three(enter_often);
  while (begun != 3) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) gate.close(), gate.open();
  stop = true;
  one.join(), two.join(), three.join();
}

using ashlar::detail::fork_lock;
using ashlar::detail::fork_locks;

std::string done;

struct named : fork_lock {
  explicit named(const char* of) : fork_lock{take, give}, name(of) {}

  static named& of(fork_lock& self) { return static_cast<named&>(self); }
  static bool take(fork_lock& self, unsigned patience) noexcept {
    if (patience < of(self).needed) return false;
    done += std::string("+") + of(self).name;
    return true;
  }
  static void give(fork_lock& self) noexcept { done += std::string("-") + of(self).name; }

  const char* name;
  unsigned needed = 0;
};

std::string tried(fork_locks& all, unsigned patience = 1) {
  done.clear();
  if (all.try_lock_all(patience)) all.unlock_all();
  return done;
}

TEST(fork_locks, are_taken_in_order_of_entry_and_given_back_the_last_first) {
  fork_locks all;
  named a("a"), b("b"), c("c");
  for (named* each : {&a, &b, &c, &a}) all.enter(*each, *each);  // the second entry has no effect
  EXPECT_EQ(tried(all), "+a+b+c-c-b-a");
}

TEST(fork_locks, are_all_given_back_where_one_is_refused) {
  fork_locks all;
  named a("a"), b("b"), c("c");
  for (named* each : {&a, &b, &c}) all.enter(*each, *each);
  c.needed = 2;
  EXPECT_EQ(tried(all), "+a+b-b-a");
  EXPECT_EQ(tried(all, 2), "+a+b+c-c-b-a");
  a.needed = 3;
  EXPECT_EQ(tried(all, 2), "");
}

TEST(fork_locks, leave_all_at_once_and_may_enter_again) {
  fork_locks all;
  named a("a"), b("b"), c("c");
  for (named* each : {&a, &b}) all.enter(*each, *each);
  all.leave_all();
  EXPECT_EQ(tried(all), "");
  for (named* each : {&c, &b}) all.enter(*each, *each);
  EXPECT_EQ(tried(all), "+c+b-b-c");
  all.leave(c);
  all.leave(b);
}

TEST(fork_locks, leave_from_anywhere_and_may_enter_again_as_the_last) {
  fork_locks all;
  named a("a"), b("b"), c("c");
  for (named* each : {&a, &b, &c}) all.enter(*each, *each);
  all.leave(b);
  all.leave(b);  // the second leave has no effect
  EXPECT_EQ(tried(all), "+a+c-c-a");
  all.leave(a);
  all.enter(b, b);
  EXPECT_EQ(tried(all), "+c+b-b-c");
  all.leave(b);
  all.enter(a, a);
  EXPECT_EQ(tried(all), "+c+a-a-c");
  all.leave(c);
  all.leave(a);
  EXPECT_EQ(tried(all), "");
}

using ashlar::lock_scope;
using ashlar::spin_lock;
using ashlar::detail::fork_safe_lock;

static_assert(std::is_same_v<ashlar::detail::fork_safe<ashlar::null_lock>, ashlar::null_lock>);
static_assert(std::is_same_v<ashlar::detail::fork_safe<std::mutex>, fork_safe_lock<std::mutex>>);
static_assert(ashlar::never_recursive<fork_safe_lock<spin_lock>> &&
              !ashlar::never_recursive<fork_safe_lock<std::mutex>>);
static_assert(noexcept(std::declval<fork_safe_lock<spin_lock>&>().lock()));

// Constructed before `main` and used by it.
constinit fork_safe_lock<spin_lock> lasting;

TEST(fork_safe_lock, enters_whichever_way_it_is_first_taken) {
  ASSERT_TRUE(lasting.try_lock());
  EXPECT_FALSE(lasting.try_lock());
  std::thread holder([] {
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    lasting.unlock();
  });
  EXPECT_TRUE(child_does([] {
    const lock_scope held(lasting);
    return true;
  }));
  holder.join();
}

TEST(registry_at_fork, a_fork_waits_for_the_holder_of_the_registry) {
  if constexpr (ashlar::checking_level < ashlar::checking::checked) GTEST_SKIP() << "level fast has no registry";
  const ashlar_test::deadline hang;
  ashlar::detail::registry_at_fork::enter();
  std::atomic<bool> held = false;
  std::atomic<bool> released = false;
  std::thread holder([&] {
    ashlar::detail::process_slabs.lock();
    held = true;
    ::usleep(50'000);
    released = true;
    ashlar::detail::process_slabs.unlock();
  });
  while (!held) std::this_thread::yield();
  EXPECT_TRUE(child_does([&] { return released && ashlar::detail::process_slabs.find(&held).owner == nullptr; }));
  holder.join();
  EXPECT_EQ(ashlar::detail::process_slabs.find(&held).owner, nullptr);
}

}  // namespace
