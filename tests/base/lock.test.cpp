// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests mutual exclusion by locks, and that a scope releases its lock.
#include <ashlar/base/lock.hpp>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

static_assert(ashlar::basic_lockable<ashlar::null_lock>);
static_assert(ashlar::basic_lockable<ashlar::spin_lock>);
static_assert(ashlar::basic_lockable<std::mutex>);
static_assert(!ashlar::basic_lockable<int>);

template <class F>
void on_threads(int count, F f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(f);
  for (std::thread& each : threads) each.join();
}

// The counter is plain: a lost update or a report of ThreadSanitizer reveals a lock that does not exclude.
template <class Lock>
void excludes() {
  constexpr int threads = 4;
  constexpr int rounds = 20'000;
  Lock lock;
  long counter = 0;
  std::atomic<int> inside = 0;
  std::atomic<int> crowds = 0;
  on_threads(threads, [&] {
    for (int i = 0; i < rounds; ++i) {
      const ashlar::detail::lock_scope scope(lock);
      if (inside.fetch_add(1, std::memory_order_relaxed) != 0) crowds.fetch_add(1, std::memory_order_relaxed);
      ++counter;
      if (i % 512 == 0) std::this_thread::yield();  // a preempted holder
      inside.fetch_sub(1, std::memory_order_relaxed);
    }
  });
  EXPECT_EQ(counter, threads * rounds);
  EXPECT_EQ(crowds.load(), 0);
}

TEST(spin_lock, lets_one_thread_in_at_a_time) { excludes<ashlar::spin_lock>(); }

TEST(spin_lock, is_not_taken_twice) {
  ashlar::spin_lock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(spin_lock, waits_for_the_holder) {
  ashlar::spin_lock lock;
  bool was_held = true;
  lock.lock();
  std::thread waiting([&] {
    lock.lock();
    EXPECT_FALSE(was_held);
    lock.unlock();
  });
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  was_held = false;
  lock.unlock();
  waiting.join();
}

TEST(lock_scope, holds_until_its_end) {
  ashlar::spin_lock lock;
  {
    const ashlar::detail::lock_scope scope(lock);
    EXPECT_FALSE(lock.try_lock());
  }
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(scopes, give_back_what_was_held_already) {
  ashlar::spin_lock lock;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(lock.try_lock());
    if (i == 0) const ashlar::detail::lock_scope scope(lock, ashlar::detail::already_held{});
    else const ashlar::detail::report_scope scope(lock, ashlar::detail::already_held{});
  }
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(scopes, release_all_held_locks_for_a_report) {
  ashlar::spin_lock lock;
  EXPECT_EXIT(
      {
        static_cast<void>(lock.try_lock());
        const ashlar::detail::report_scope scope(lock, ashlar::detail::already_held{});
        ashlar::detail::held_locks::release_all();
        std::_Exit(lock.try_lock() ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(null_lock, never_waits) {
  ashlar::null_lock lock;
  lock.lock();
  EXPECT_TRUE(lock.try_lock());
  const ashlar::detail::lock_scope scope(lock);
  lock.unlock();
}

}  // namespace
