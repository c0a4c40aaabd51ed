// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that threads that wait for a lock sleep: they cost neither time nor switches of the processor, and its holder
// runs, also one of lower priority on the same processor.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/slab/shared_slabs.hpp>

namespace {

rusage use_of(int who) {
  rusage used = {};
  ::getrusage(who, &used);
  return used;
}

long switches() {
  const rusage used = use_of(RUSAGE_SELF);
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

#if defined(__linux__)

using clock_type = std::chrono::steady_clock;

TEST(real_time, a_long_wait_sleeps) {
  const long before = use_of(RUSAGE_THREAD).ru_nvcsw;
  for (unsigned turn = 100; turn != 120; ++turn) ashlar::detail::yield_or_sleep(turn);
  EXPECT_GE(use_of(RUSAGE_THREAD).ru_nvcsw - before, 10) << "a pause is none where its end comes before its beginning";
}

void work(std::chrono::milliseconds time) { for (const auto end = clock_type::now() + time; clock_type::now() < end;); }

// Returns: whether the thread stays on the first processor, before all threads without a real-time priority if asked.
bool join_first_processor(bool is_urgent) {
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  if (::pthread_setaffinity_np(::pthread_self(), sizeof first, &first) != 0) return false;
  sched_param least = {};  // musl's has reserved members
  least.sched_priority = 1;
  return !is_urgent || ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &least) == 0;
}

// Returns: the seconds that an urgent thread waited for a lock which another one holds for 20 ms; less than 0 where
// priorities are not permitted.
double waited_for_the_holder() {
  ashlar::spin_lock lock;
  std::atomic<bool> is_held = false, is_permitted = true;
  std::chrono::duration<double> waited = {};
  std::thread holder([&] {
    if (!join_first_processor(false)) is_permitted = false;
    lock.lock();
    is_held = true;
    work(std::chrono::milliseconds(20));  // the other thread takes the processor meanwhile
    lock.unlock();
  });
  std::thread urgent([&] {
    while (!is_held) std::this_thread::yield();
    if (!join_first_processor(true)) is_permitted = false;
    const auto begin = clock_type::now();
    lock.lock();
    waited = clock_type::now() - begin;
    lock.unlock();
  });
  holder.join();
  urgent.join();
  return is_permitted ? waited.count() : -1;
}

// A system ends the rule of a thread that only yields after 0.95 s of a second. Others may have the processor
// meanwhile, so the shortest of a few waits counts.
TEST(real_time, a_holder_of_lower_priority_runs_while_a_thread_waits) {
  double shortest = 1;
  for (int tries = 0; tries < 5 && shortest >= 0.5; ++tries) shortest = std::min(shortest, waited_for_the_holder());
  if (shortest < 0) GTEST_SKIP() << "real-time priorities are not permitted";
  EXPECT_LT(shortest, 0.5);
}

#endif

}  // namespace
