// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of atomic bits and of locks: one holder at a time, the word of a lock, reentry, and the release of held locks
// by a report.
#include <atomic>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/slab/shared_slabs.hpp>

#include "tests/support/build.hpp"
#include "tests/support/death.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::lock_scope;
using ashlar::report_scope;

static_assert(ashlar::basic_lockable<std::mutex> && !ashlar::basic_lockable<int>);
static_assert(std::is_same_v<ashlar::check_scope<ashlar::null_lock>, lock_scope<ashlar::null_lock>>);
static_assert(std::is_same_v<ashlar::check_scope<std::mutex>,
                             std::conditional_t<ashlar::checking_level >= ashlar::checking::checked,
                                                report_scope<std::mutex>, lock_scope<std::mutex>>>);

TEST(atomic_bits, are_set_and_cleared_and_those_before_are_the_result) {
  ashlar::detail::atomic<unsigned> bits = 5u;
  EXPECT_EQ(bits.fetch_or(3u, ashlar::detail::memory_order_relaxed), 5u);
  EXPECT_EQ(bits.fetch_and(6u, ashlar::detail::memory_order_relaxed), 7u);
  EXPECT_EQ(bits.load(ashlar::detail::memory_order_relaxed), 6u);
}

template <class Lock>
class exclusive_locks : public ::testing::Test {
protected:
  Lock lock_;
};

// An `owner_lock` is a `lock_word` that knows its threads.
using exclusive = ::testing::Types<ashlar::spin_lock, ashlar::detail::owner_lock>;
TYPED_TEST_SUITE(exclusive_locks, exclusive);

TYPED_TEST(exclusive_locks, are_not_taken_twice) {
  auto& lock = this->lock_;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(lock.try_lock());
    EXPECT_FALSE(lock.try_lock());
    std::thread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
    lock.unlock();
  }
}

// The counter is plain: a lost update or a report of ThreadSanitizer reveals a lock that does not exclude.
TYPED_TEST(exclusive_locks, let_one_thread_in_at_a_time) {
  constexpr int count = 4, rounds = 20'000;
  long counter = 0;
  std::atomic<int> inside = 0, crowds = 0;
  ashlar_test::on_threads(count, [&](std::size_t) {
    for (int i = 0; i < rounds; ++i) {
      const lock_scope scope(this->lock_);
      if (inside.fetch_add(1, std::memory_order_relaxed) != 0) crowds.fetch_add(1, std::memory_order_relaxed);
      ++counter;
      if (i % 512 == 0) std::this_thread::yield();                                   // a preempted holder
      if (i % 5000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // others sleep
      inside.fetch_sub(1, std::memory_order_relaxed);
    }
  });
  EXPECT_EQ(counter, count * rounds);
  EXPECT_EQ(crowds.load(), 0);
}

TEST(null_lock, never_waits) {
  ashlar::null_lock lock;
  lock.lock();
  EXPECT_TRUE(lock.try_lock());
  const lock_scope scope(lock);
  lock.unlock();
}

TEST(lock_word, is_had_by_one_holder) {
  ashlar::detail::lock_word word;
  EXPECT_EQ(word.holder(), 0u);
  EXPECT_TRUE(word.try_lock(2));
  EXPECT_EQ(word.holder(), 2u);
  EXPECT_FALSE(word.try_lock(4));
  EXPECT_FALSE(word.try_lock(2)) << "nor again by itself";
  word.unlock(2);
  EXPECT_EQ(word.holder(), 0u);
}

TEST(lock_word, wakes_a_thread_that_sleeps_for_it) {
  ashlar::detail::lock_word word;
  ASSERT_TRUE(word.try_lock(2));
  std::atomic<bool> has_word{false};
  std::thread waiting([&] {
    word.wait(4);
    has_word = true;
    EXPECT_EQ(word.holder(), 4u) << "without the bit of sleepers";
    word.unlock(4);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it has spun, and sleeps
  EXPECT_FALSE(has_word);
  EXPECT_EQ(word.holder(), 2u);
  word.unlock(2);
  waiting.join();
  EXPECT_TRUE(has_word);
  EXPECT_EQ(word.holder(), 0u);
  EXPECT_TRUE(word.try_lock(6)) << "free, though a thread has slept";
  word.unlock(6);
}

TEST(scopes, hold_until_their_end_also_what_was_held_already) {
  ashlar::spin_lock lock;
  for (int i = 0; i < 3; ++i) {
    if (i != 0) ASSERT_TRUE(lock.try_lock());
    if (i == 0) {
      const lock_scope scope(lock);
      EXPECT_FALSE(lock.try_lock());
    } else if (i == 1) {
      const lock_scope scope(lock, ashlar::already_held{});
    } else {
      const report_scope scope(lock, ashlar::already_held{});
    }
  }
  EXPECT_TRUE(lock.try_lock());
}

TEST(scopes, release_all_held_locks_for_a_report) {
  ashlar::spin_lock lock;
  EXPECT_EXIT(
      {
        static_cast<void>(lock.try_lock());
        const report_scope scope(lock, ashlar::already_held{});
        ashlar::detail::held_locks::release_all();
        std::_Exit(lock.try_lock() ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "");
}

std::vector<int> unlocked;

struct named_lock {
  int name;
  void lock() noexcept {}
  void unlock() noexcept { unlocked.push_back(name); }
};

TEST(held_locks, a_scope_unlocks_once_where_nothing_is_reported) {
  unlocked.clear();
  named_lock first{1};
  {
    const report_scope held(first);
    EXPECT_TRUE(unlocked.empty());
  }
  ashlar::detail::held_locks::release_all();
  EXPECT_EQ(unlocked, std::vector<int>{1});
}

std::jmp_buf back;

TEST(held_locks, a_report_lets_go_of_all_the_latest_first) {
  unlocked.clear();
  static named_lock first{1};
  static named_lock second{2};
  static named_lock gone{3};
  ashlar::set_violation_handler([](const ashlar::violation&) noexcept {
    EXPECT_EQ(unlocked, (std::vector<int>{3, 2, 1}));
    std::longjmp(back, 1);
  });
  if (setjmp(back) == 0) {
    const report_scope outer(first);
    const report_scope inner(second);
    {
      const report_scope over(gone);
    }
    ashlar::report({.what = "tried it"});
  }
  ashlar::set_violation_handler(nullptr);
  ashlar::detail::held_locks::release_all();
  EXPECT_EQ(unlocked.size(), 3u);
}

TEST(held_locks, are_each_threads_own) {
  std::mutex mutex;
  const report_scope held(mutex);
  std::thread([&] {
    ashlar::detail::held_locks::release_all();
    EXPECT_FALSE(mutex.try_lock());
  }).join();
}

TEST(held_locks, a_thread_may_take_a_lock_again_that_it_has_given_back) {
  ashlar::spin_lock lock, other;
  for (int i = 0; i < 2; ++i) {
    const report_scope held(lock);
    const report_scope inside(other);
  }
  EXPECT_TRUE(lock.try_lock());
}

// By a call of its holder, and in a signal handler.
template <class Lock, class Scope>
void expect_reentry_to_be_reported() {
  static Lock lock;
  for (const bool by_signal : {false, true}) {
    const auto reenter = [by_signal] {
      ::alarm(60);
      const Scope held(lock);
      if (!by_signal) const Scope again(lock);
      std::signal(SIGUSR1, [](int) { const Scope again(lock); });
      static_cast<void>(std::raise(SIGUSR1));
    };
    ASHLAR_EXPECT_DEATH(reenter(),
                        "ashlar: reentry: a signal handler or a callback used the resource that it interrupted");
  }
}

TEST(reentry, is_reported_where_a_thread_would_wait_for_itself) {
  expect_reentry_to_be_reported<ashlar::detail::owner_lock, lock_scope<ashlar::detail::owner_lock>>();
  if (ashlar_test::is_checked) expect_reentry_to_be_reported<ashlar::spin_lock, report_scope<ashlar::spin_lock>>();
}

}  // namespace
