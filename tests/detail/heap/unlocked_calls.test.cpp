// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of calls that are made without the lock around them: what other threads, refused requests and forks meet.
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/heap/page_discard.hpp>

namespace {

using ashlar::spin_lock;
using ashlar::detail::report_scope;
using ashlar::detail::unlocked_calls;

// A word of one thread to another; std::promise does not link by clang for mingw.
class once_set {
public:
  void set() noexcept { is_set_ = true; }
  void wait() const noexcept {
    while (!is_set_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

private:
  std::atomic<bool> is_set_ = false;
};

bool is_free(spin_lock& lock) {
  if (!lock.try_lock()) return false;
  lock.unlock();
  return true;
}

// Returns: whether the lock is free during a call.
bool is_free_in(unlocked_calls& calls, spin_lock& lock) {
  const unlocked_calls::call under_way(calls);
  return is_free(lock);
}

TEST(unlocked_calls, release_a_lock_that_is_noted_or_not) {
  unlocked_calls calls;
  spin_lock lock;
  calls.share(lock);
  {
    const std::lock_guard held(lock);
    EXPECT_TRUE(is_free_in(calls, lock) && !is_free(lock));
  }
  {
    const report_scope<spin_lock> held(lock);
    EXPECT_TRUE(is_free_in(calls, lock) && !is_free(lock));
    {
      const unlocked_calls::call under_way(calls);
      const report_scope<spin_lock> again(lock);
    }
    EXPECT_FALSE(is_free(lock));
  }
  EXPECT_TRUE(is_free(lock));
}

TEST(unlocked_calls, keep_the_lock_within_a_scope) {
  unlocked_calls calls;
  spin_lock lock;
  const std::lock_guard held(lock);
  calls.share(lock);
  {
    const unlocked_calls::locked_scope around(calls);
    EXPECT_FALSE(is_free_in(calls, lock));
  }
  EXPECT_TRUE(is_free_in(calls, lock));
}

// One thread is inside a call until `may_end` is set; `f` runs meanwhile.
template <class F>
void meet(unlocked_calls& calls, spin_lock& lock, F f) {
  once_set inside, may_end;
  std::thread other([&] {
    const std::lock_guard held(lock);
    const unlocked_calls::call under_way(calls);
    inside.set();
    may_end.wait();
  });
  inside.wait();
  f(may_end);
  other.join();
}

TEST(unlocked_calls, are_waited_for_by_a_request_that_is_refused) {
  unlocked_calls calls;
  spin_lock lock;
  calls.share(lock);
  meet(calls, lock, [&](once_set& may_end) {
    const std::lock_guard held(lock);
    may_end.set();
    EXPECT_TRUE(calls.wait_for_others());
    EXPECT_FALSE(calls.wait_for_others());
  });
}

TEST(unlocked_calls, are_waited_for_whoever_else_waits) {
  unlocked_calls calls;
  spin_lock lock;
  calls.share(lock);
  meet(calls, lock, [&](once_set& may_end) {
    std::atomic<int> over = 0;
    const auto request = [&] {
      const std::lock_guard held(lock);
      static_cast<void>(calls.wait_for_others());
      ++over;
    };
    std::thread one(request), two(request);
    std::thread forking([&] { calls.begin_fork(), ++over, calls.end_fork(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(over, 0);
    may_end.set();
    one.join(), two.join(), forking.join();
  });
}

TEST(unlocked_calls, are_not_waited_for_within_a_scope_that_keeps_the_lock) {
  unlocked_calls calls;
  spin_lock lock;
  calls.share(lock);
  meet(calls, lock, [&](once_set& may_end) {
    const std::lock_guard held(lock);
    const unlocked_calls::locked_scope around(calls);
    EXPECT_FALSE(calls.wait_for_others());
    may_end.set();
  });
}

TEST(unlocked_calls, are_over_at_a_fork_and_made_under_the_lock_up_to_its_end) {
  unlocked_calls calls;
  spin_lock lock;
  calls.share(lock);
  meet(calls, lock, [&](once_set& may_end) {
    may_end.set();
    calls.begin_fork();
    EXPECT_FALSE(calls.wait_for_others());
    EXPECT_FALSE(is_free_in(calls, lock));
    calls.end_fork();
    const std::lock_guard held(lock);
    EXPECT_TRUE(is_free_in(calls, lock));
  });
}

}  // namespace
