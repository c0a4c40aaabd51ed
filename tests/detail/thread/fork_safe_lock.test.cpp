// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the lock that is held across forks: a fork waits for its holder; parent and child release it.
#include <ashlar/detail/thread/fork_safe_lock.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>

#include "tests/support/child.hpp"
#include "tests/support/deadline.hpp"

namespace {

using ashlar::spin_lock;
using ashlar::detail::fork_safe_lock;
using ashlar::detail::lock_scope;
using ashlar_test::child_does;

struct blocking_lock {
  void lock() { mutex.lock(); }
  void unlock() { mutex.unlock(); }
  std::mutex mutex;
};

static_assert(std::is_same_v<ashlar::detail::fork_safe<ashlar::null_lock>, ashlar::null_lock>);
static_assert(std::is_same_v<ashlar::detail::fork_safe<std::mutex>, fork_safe_lock<std::mutex>>);
static_assert(ashlar::never_recursive<fork_safe_lock<spin_lock>> &&
              !ashlar::never_recursive<fork_safe_lock<std::mutex>>);
static_assert(noexcept(std::declval<fork_safe_lock<spin_lock>&>().lock()));

// Constructed before `main` and used by it.
constinit fork_safe_lock<spin_lock> lasting;

template <class Lock>
class fork_safe : public ::testing::Test {};
using kinds = ::testing::Types<spin_lock, std::mutex, blocking_lock>;
TYPED_TEST_SUITE(fork_safe, kinds);

TYPED_TEST(fork_safe, the_fork_waits_for_the_holder) {
  const ashlar_test::deadline hang;
  fork_safe_lock<TypeParam> lock;
  int guarded = 0;
  std::atomic<bool> is_held = false;
  std::thread holder([&] {
    const lock_scope held(lock);
    is_held = true;
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    guarded = 1;
  });
  while (!is_held) std::this_thread::yield();
  EXPECT_TRUE(child_does([&] {
    const lock_scope held(lock);
    return guarded == 1;
  }));
  holder.join();
  const lock_scope held(lock);
}

// The order of entry differs from the order in which a thread takes the locks. Locks without `try_lock` enter in the
// latter order, one by one.
TYPED_TEST(fork_safe, whichever_lock_is_held_while_the_other_is_waited_for) {
  const ashlar_test::deadline hang;
  constexpr bool can_be_tried = !std::is_same_v<TypeParam, blocking_lock>;
  std::array<fork_safe_lock<TypeParam>, 2> locks;
  for (fork_safe_lock<TypeParam>* each : {&locks[can_be_tried ? 1 : 0], &locks[1]}) const lock_scope entering(*each);
  const auto nest = [&] {
    const lock_scope outer(locks[0]);
    const lock_scope inner(locks[1]);
  };
  std::atomic<bool> stop = false;
  std::thread nesting([&] {
    for (; !stop; std::this_thread::yield()) nest();
  });
  for (int round = 0; round < 20; ++round) EXPECT_TRUE(child_does([&] { return nest(), true; }));
  stop = true;
  nesting.join();
}

TYPED_TEST(fork_safe, a_lock_that_ended_is_not_asked_for) {
  auto ended = std::make_unique<fork_safe_lock<TypeParam>>();
  ended->lock();
  ended->unlock();
  ended.reset();
  EXPECT_TRUE(child_does([] { return true; }));
}

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

}  // namespace
