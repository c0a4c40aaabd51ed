// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the lock that records its holder.
#include <csignal>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/slab/shared_slabs.hpp>

#include "tests/support/death.hpp"

namespace {

ashlar::detail::owner_lock lock;

TEST(owner_lock, is_had_by_one_at_a_time) {
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  std::thread([] { EXPECT_FALSE(lock.try_lock()); }).join();
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(owner_lock, keeps_threads_apart) {
  constexpr int rounds = 20'000;
  int sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&sum] {
      for (int round = 0; round < rounds; ++round) {
        const ashlar::detail::lock_scope held(lock);
        ++sum;
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(sum, 3 * rounds);
}

constexpr const char* reentry = "ashlar: reentry: a signal handler or a callback used the resource that it interrupted";

TEST(owner_lock, ends_the_process_where_its_holder_wants_it_again) {
  ASHLAR_EXPECT_DEATH((lock.lock(), lock.lock()), reentry);
}

TEST(owner_lock, tells_a_signal_handler_of_its_holder) {
  const auto interrupted = [] {
    static_cast<void>(std::signal(SIGUSR1, [](int) { lock.lock(); }));
    lock.lock();
    static_cast<void>(std::raise(SIGUSR1));
  };
  ASHLAR_EXPECT_DEATH(interrupted(), reentry);
}

}  // namespace
