// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of calls without the lock around them, and of the registry of heaps: what other threads and forks meet.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/heap_registry.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::report_scope;
using ashlar::spin_lock;
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

using ashlar::local_heap;
using ashlar::detail::extent_at;
using ashlar::detail::heap_registry;
using ashlar::detail::page_map;
using ashlar::detail::process_heaps;
using ashlar::detail::registered_heap;
using ashlar::detail::window;
using ashlar::detail::window_bytes;

TEST(heap_registry, finds_the_innermost_or_none) {
  heap_registry registry;
  std::array<window, 8> outer_slots, inner_slots;
  page_map outer, inner;
  outer.move_to(outer_slots.data(), 8);
  inner.move_to(inner_slots.data(), 8);
  auto* const at = reinterpret_cast<std::byte*>(16 * window_bytes);
  for (std::size_t i = 0; i < 2; ++i) outer.insert(window::of(at, i, 2 * window_bytes, window_bytes, false));
  inner.insert(window::of(at + window_bytes, 0, window_bytes, window_bytes, true));
  registered_heap lines[2];
  lines[0].heap = &outer, lines[0].windows = &outer;
  lines[1].heap = &inner, lines[1].windows = &inner;
  EXPECT_EQ(registry.find(extent_at{at}), nullptr);
  registry.enter(lines[1]);
  registry.enter(lines[0]);
  EXPECT_EQ(registry.find(extent_at{at + 5}), &outer);
  EXPECT_EQ(registry.find(extent_at{at + window_bytes + 5}), &inner);
  EXPECT_EQ(registry.find(extent_at{at - 1}), nullptr);
  EXPECT_EQ(registry.find(extent_at{at + 2 * window_bytes}), nullptr);
  registry.leave(lines[1]);
  EXPECT_EQ(registry.find(extent_at{at + window_bytes + 5}), &outer);
  registry.leave(lines[0]);
  EXPECT_EQ(registry.find(extent_at{at}), nullptr);
}

TEST(heap_registry, others_look_while_a_heap_changes) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "kept from level checked on";
  local_heap<> mine;
  void* const p = mine.allocate(100);
  std::atomic<bool> is_done = false;
  std::thread changing([&] {
    for (int i = 0; i < 30; ++i) {
      local_heap<> heap;
      std::vector<void*> held;
      for (int k = 0; k < 8; ++k) held.push_back(heap.allocate(5'000'000));
      for (void* const each : held) heap.deallocate(each);
    }
    is_done = true;
  });
  while (!is_done) ASSERT_EQ(process_heaps.find(extent_at{p}), &mine);
  changing.join();
}

}  // namespace
