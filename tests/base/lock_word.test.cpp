// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the word of a lock.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>

namespace {

TEST(lock_word, is_had_by_one_holder) {
  ashlar::detail::lock_word word;
  EXPECT_EQ(word.holder(), 0u);
  EXPECT_TRUE(word.try_lock(2));
  EXPECT_EQ(word.holder(), 2u);
  EXPECT_FALSE(word.try_lock(4));
  EXPECT_FALSE(word.try_lock(2)) << "nor again by itself";
  word.unlock(2);
  EXPECT_EQ(word.holder(), 0u);
  EXPECT_TRUE(word.try_lock(4));
  word.unlock(4);
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

TEST(lock_word, keeps_threads_apart) {
  constexpr int rounds = 2000;
  ashlar::detail::lock_word word;
  int sum = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 1; i <= 3; ++i)
    threads.emplace_back([&, holder = 2 * i] {
      for (int round = 0; round < rounds; ++round) {
        if (!word.try_lock(holder)) word.wait(holder);
        if (round % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // others sleep
        ++sum;
        word.unlock(holder);
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(sum, 3 * rounds);
  EXPECT_EQ(word.holder(), 0u);
}

}  // namespace
