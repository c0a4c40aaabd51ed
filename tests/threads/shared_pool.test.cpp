// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cells of one shared_block_pool go from every thread to every other; threads start, end, and query the pool meanwhile.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/support/stress.hpp"

namespace {

using ashlar_test::stress_rounds;

/// The contents of a live cell; two owners at once would see each other's numbers.
struct message {
  std::uint64_t number;
  std::uint64_t complement;
};

class post_office {
public:
  static constexpr std::size_t threads = 4;

  /// Effects: allocates `rounds` messages, and frees as many of any thread. A new thread takes over every 10'000.
  void work(std::size_t who, std::size_t rounds) {
    for (std::size_t done = 0; done < rounds;) {
      const std::size_t end = std::min(rounds, done + 10'000);
      std::thread([&, done, end] { shift(who, done, end); }).join();
      done = end;
    }
  }

  void close() {
    for (auto& box : boxes_) take(box.exchange(nullptr));
    EXPECT_EQ(pool_.live(), 0u);
    EXPECT_TRUE(pool_.invariant());
    static_cast<void>(pool_.trim());
    EXPECT_EQ(pool_.slabs(), 0u);
  }

private:
  void shift(std::size_t who, std::size_t from, std::size_t to) {
    std::minstd_rand random(static_cast<unsigned>(who * 7919 + from + 1));
    for (std::size_t round = from; round != to; ++round) {
      const std::uint64_t number = round * threads + who;
      auto* const fresh = ::new (pool_.allocate()) message{number, ~number};
      // Pairs with itself: another thread wrote the message.
      take(boxes_[random() % boxes_.size()].exchange(fresh, std::memory_order_acq_rel));
      if (round % 4096 < 32)
        for (auto& box : boxes_) take(box.exchange(nullptr, std::memory_order_acq_rel));
      if (round % 8192 == 0) ask(fresh);
    }
  }

  void ask(const void* anybodys) {
    static_cast<void>(pool_.live() + pool_.capacity() + (pool_.owns(anybodys) ? 1u : 0u));
    if (pool_.slabs() % 3 == 0) static_cast<void>(pool_.trim());
    pool_.flush();
  }

  void take(message* arrived) {
    if (arrived == nullptr) return;
    ASSERT_EQ(arrived->number, ~arrived->complement);
    arrived->complement = arrived->number;  // no longer valid, if it comes again
    pool_.deallocate(arrived);
  }

  ashlar::shared_block_pool<> pool_{{.cell_bytes = sizeof(message)}};
  std::array<std::atomic<message*>, 300> boxes_ = {};
};

TEST(shared_pool, carries_messages_between_threads_that_come_and_go) {
  post_office office;
  const std::size_t rounds = stress_rounds(100'000);
  std::vector<std::thread> threads;
  for (std::size_t who = 0; who < post_office::threads; ++who)
    threads.emplace_back([&office, who, rounds] { office.work(who, rounds); });
  for (std::thread& each : threads) each.join();
  office.close();
}

}  // namespace
