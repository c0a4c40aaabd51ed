// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the parts of threads in an owner of the process: found by one word, left late, held over forks.
#include <atomic>
#include <thread>

#include <pthread.h>

#include <gtest/gtest.h>

#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/detail/thread/process_threads.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"

namespace {

using ashlar::detail::fork_step;

struct part {
  int entered = 0;
};

struct owner {
  std::atomic<int> registered = 0, begun = 0, ended = 0, sum = 0, steps = 0;
  std::atomic<bool> has_memory = true, is_held = false;
  const part* of_child = nullptr;
  ashlar::detail::process_threads<owner, part> threads{*this};

  constexpr owner() = default;

  void enter_registry() noexcept { ++registered; }
  [[nodiscard]] part* begin_thread() noexcept { return has_memory ? (++begun, new part) : nullptr; }
  void end_thread(part& leaving) noexcept {
    ++ended;
    sum += leaving.entered;
    delete &leaving;
  }
  void before_fork(fork_step) noexcept {
    ++steps;
    is_held = true;
  }
  void after_fork_in_parent() noexcept { is_held = false; }
  void after_fork_in_child(const part* mine) noexcept {
    is_held = false;
    of_child = mine;
  }
};

constinit owner all;  // as an owner of the process is: constant-initialised

TEST(process_threads, shows_an_empty_part_until_a_thread_has_one) {
  std::thread([] {
    EXPECT_EQ(all.threads.cached(), nullptr);
    EXPECT_EQ(all.threads.find(), nullptr);
    const part* const empty = all.threads.last_used();
    ASSERT_NE(empty, nullptr);
    EXPECT_EQ(empty->entered, 0);
    part* const mine = all.threads.find_or_attach();
    ASSERT_NE(mine, nullptr);
    EXPECT_GE(all.registered, 1);
    EXPECT_NE(mine, empty);
    EXPECT_TRUE(mine == all.threads.last_used() && mine == all.threads.cached() &&
                mine == all.threads.find_or_attach());
    EXPECT_TRUE(all.threads.is_last_used());
  }).join();
  EXPECT_EQ(all.begun, all.ended);
}

TEST(process_threads, keeps_the_part_while_other_keys_end_and_are_set_again) {
  static pthread_key_t early, late;
  static std::atomic<int> found;
  found = 0;
  const auto look = [](void* value) { found += all.threads.cached() == value ? 1 : 0; };
  static constexpr auto set_again = [](void* value) {
    found += all.threads.cached() == value ? 1 : 0;
    ::pthread_setspecific(late, value);
  };
  ASSERT_EQ(::pthread_key_create(&early, set_again), 0);
  ASSERT_EQ(::pthread_key_create(&late, look), 0);
  std::thread([] { ASSERT_EQ(::pthread_setspecific(early, all.threads.find_or_attach()), 0); }).join();
  EXPECT_EQ(found, 2);
  EXPECT_EQ(all.begun, all.ended);
  ::pthread_key_delete(early);
  ::pthread_key_delete(late);
}

// A key whose destructor is called in the last round, after the part has gone.
struct last_round {
  pthread_key_t key = {};
  int rounds = 0;
  bool has_part = true;
  bool gets_one = true;
};
constinit last_round last;

TEST(process_threads, gives_no_part_to_a_thread_that_has_left) {
  if constexpr (ashlar_test::has_tsan) GTEST_SKIP() << "ThreadSanitizer forgets the thread in the last round";
  const auto count = [](void* value) {
    if (++last.rounds < PTHREAD_DESTRUCTOR_ITERATIONS) ::pthread_setspecific(last.key, value);
    last.has_part = all.threads.cached() != nullptr;
    if (last.rounds == PTHREAD_DESTRUCTOR_ITERATIONS) last.gets_one = all.threads.find_or_attach() != nullptr;
  };
  ASSERT_EQ(::pthread_key_create(&last.key, count), 0);
  std::thread([] {
    static_cast<void>(all.threads.find_or_attach());
    ASSERT_EQ(::pthread_setspecific(last.key, &last), 0);
  }).join();
  EXPECT_EQ(last.rounds, PTHREAD_DESTRUCTOR_ITERATIONS);
  EXPECT_FALSE(last.has_part);
  EXPECT_FALSE(last.gets_one);
  EXPECT_EQ(all.begun, all.ended);
  ::pthread_key_delete(last.key);
}

TEST(process_threads, asks_again_after_a_refusal) {
  std::thread([] {
    all.has_memory = false;
    EXPECT_EQ(all.threads.find_or_attach(), nullptr);
    EXPECT_EQ(all.threads.cached(), nullptr);
    all.has_memory = true;
    EXPECT_NE(all.threads.find_or_attach(), nullptr);
  }).join();
  EXPECT_EQ(all.begun, all.ended);
}

TEST(process_threads, exchanges_the_part_of_a_thread) {
  part* moved = nullptr;
  std::thread([&] {
    moved = all.threads.find_or_attach();
    EXPECT_EQ(all.threads.attach(nullptr), moved);
    EXPECT_EQ(all.threads.cached(), nullptr);
  }).join();
  EXPECT_EQ(all.begun, all.ended + 1);
  std::thread([&] {
    EXPECT_EQ(all.threads.attach(moved), nullptr);
    EXPECT_EQ(all.threads.cached(), moved);
  }).join();
  EXPECT_EQ(all.begun, all.ended);
}

TEST(process_threads, holds_the_owner_over_a_fork_and_names_the_part_of_the_child) {
  ashlar::detail::fork_participants::install_at_start();
  part* const mine = all.threads.find_or_attach();
  all.steps = 0;
  EXPECT_TRUE(
      ashlar_test::child_does([mine] { return !all.is_held && all.of_child == mine && all.threads.cached() == mine; }));
  EXPECT_EQ(all.steps, 4);
  EXPECT_FALSE(all.is_held);
  EXPECT_TRUE(ashlar_test::child_does([] {
    bool is_other = false;
    std::thread([&] { is_other = all.threads.find_or_attach() != all.of_child; }).join();
    return is_other;
  }));
}

}  // namespace
