// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that threads that wait for a lock sleep: they cost neither time nor switches of the processor.
#include <sys/resource.h>

#include <chrono>
#include <thread>
#include <vector>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/slab/shared_slabs.hpp>

#include <gtest/gtest.h>

namespace {

long switches() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_nvcsw + used.ru_nivcsw;
}

template <class Lock>
class lock_waited_for : public testing::Test {};
using locks = testing::Types<ashlar::spin_lock, ashlar::detail::owner_lock>;
TYPED_TEST_SUITE(lock_waited_for, locks);

// Woken each 50 microseconds, these threads would switch a hundred thousand times.
TYPED_TEST(lock_waited_for, lets_many_threads_sleep) {
  constexpr int threads = 64;
  TypeParam lock;
  int inside = 0;
  std::vector<std::thread> waiting;
  lock.lock();
  for (int i = 0; i < threads; ++i)
    waiting.emplace_back([&] {
      lock.lock();
      ++inside;
      lock.unlock();
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const long before = switches();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(switches() - before, threads * 100);
  EXPECT_EQ(inside, 0);
  lock.unlock();
  for (std::thread& each : waiting) each.join();
  EXPECT_EQ(inside, threads);
}

}  // namespace
