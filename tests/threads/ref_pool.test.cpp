// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counted objects in many threads: copies everywhere, the last reference anywhere, an end of the pool at any time.
#include <ashlar/face/ref_pool.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/ref_ptr.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/pool_traits.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::any_thread;
using ashlar_test::counting_resource;
using ashlar_test::nothing;
using ashlar_test::on_threads;
using ashlar_test::stress_rounds;
using counted = ashlar::resource_ref<counting_resource<>>;

template <class T, class Lock = ashlar::spin_lock>
using shared_pool = ashlar::ref_pool<T, any_thread<Lock>, ashlar::count::by_padding, counted>;

// Holds its number and whether it is live; its destructor sees the last write of any thread.
struct message {
  message(std::size_t by, std::size_t n) : owner(by), number(n), check(~(by * 31 + n)) {}
  ~message() {
    EXPECT_EQ(check, ~(owner * 31 + number));
    check = 0;
    ended.fetch_add(1, std::memory_order_relaxed);
  }
  std::size_t owner;
  std::size_t number;
  std::size_t check;
  static inline std::atomic<std::size_t> ended = 0;
};

// Threads make messages, swap them with others through a table of cells, copy and drop them.
template <class Pool>
void exchange(Pool& pool, std::size_t threads, std::size_t messages) {
  struct cell {
    std::mutex guard;
    typename Pool::pointer content;
  };
  std::vector<cell> table(64);
  on_threads(threads, [&](std::size_t who) {
    std::mt19937 random(static_cast<unsigned>(who));
    for (std::size_t n = 0; n < messages; ++n) {
      auto mine = pool.make(who, n);
      auto& at = table[random() % table.size()];
      const auto copy = mine;
      const std::lock_guard hold(at.guard);
      at.content.swap(mine);  // the former content ends with `mine`, outside of the lock
    }
  });
}

TEST(ref_pool_threads, each_message_ends_once) {
  message::ended = 0;
  counting_resource<> upstream;
  const std::size_t messages = stress_rounds(50'000);
  {
    shared_pool<message> pool(upstream);
    exchange(pool, 4, messages);
    EXPECT_TRUE(pool.empty());
    EXPECT_TRUE(pool.invariant());
    EXPECT_LE(pool.capacity(), 200'000u);
  }
  EXPECT_EQ(message::ended.load(), 4 * messages);
}

// Many threads hold one object; the last of them ends it.
TEST(ref_pool_threads, the_last_reference_may_be_anywhere) {
  message::ended = 0;
  counting_resource<> upstream;
  const std::size_t rounds = stress_rounds(2'000);
  shared_pool<message> pool(upstream);
  for (std::size_t round = 0; round < rounds; ++round) {
    auto object = pool.make(round, 1u);
    std::array<std::thread, 3> threads;
    for (auto& each : threads)
      each = std::thread([copy = object]() mutable {
        auto more = copy;
        copy.reset();
        more.reset();
      });
    object.reset();
    for (auto& each : threads) each.join();
    ASSERT_EQ(message::ended.load(), round + 1);
  }
}

// The handle ends while others drop objects: the last of all frees the memory.
TEST(ref_pool_threads, the_pool_may_end_while_objects_go) {
  message::ended = 0;
  const std::size_t rounds = stress_rounds(2'000);
  for (std::size_t round = 0; round < rounds; ++round) {
    counting_resource<> upstream;  // its destructor reports leaks
    std::optional<shared_pool<message>> pool(upstream);
    std::array<std::vector<shared_pool<message>::pointer>, 2> held;
    for (std::size_t i = 0; i < 40; ++i) held[i % 2].push_back(pool->make(round, i));
    std::atomic<int> ready = 0;
    const auto drop_all = [&](std::size_t who) {
      ready.fetch_add(1);
      while (ready.load() != 3) std::this_thread::yield();
      for (auto& each : held[who]) each.reset();
    };
    std::thread first(drop_all, 0);
    std::thread second(drop_all, 1);
    ready.fetch_add(1);
    while (ready.load() != 3) std::this_thread::yield();
    for (std::size_t i = 0; i < round % 64; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
    pool.reset();
    first.join();
    second.join();
    ASSERT_EQ(upstream.balance(), nothing);
  }
  EXPECT_EQ(message::ended.load(), 40 * rounds);
}

// One thread takes without a lock, another gives back without waiting.
TEST(ref_pool_threads, one_taker_needs_no_lock) {
  message::ended = 0;
  counting_resource<> upstream;
  shared_pool<message, ashlar::null_lock> pool(upstream);
  const std::size_t messages = stress_rounds(100'000);
  std::array<std::atomic<message*>, 64> ring = {};
  std::thread consumer([&] {
    for (std::size_t n = 0; n < messages; ++n) {
      message* got = nullptr;
      while ((got = ring[n % ring.size()].exchange(nullptr, std::memory_order_acquire)) == nullptr)  // pairs below
        std::this_thread::yield();
      EXPECT_EQ(got->number, n);
      ashlar::drop_reference<any_thread<ashlar::null_lock>>(got);
    }
  });
  for (std::size_t n = 0; n < messages; ++n) {
    while (ring[n % ring.size()].load(std::memory_order_relaxed) != nullptr) std::this_thread::yield();
    ring[n % ring.size()].store(pool.make(0u, n).release(), std::memory_order_release);  // pairs with the consumer's
  }
  consumer.join();
  EXPECT_EQ(message::ended.load(), messages);
  EXPECT_LE(pool.capacity(), 20'000u);
}

// Linked structures end in several threads at once, each without recursion.
TEST(ref_pool_threads, lists_end_in_many_threads_at_a_time) {
  struct node {
    ashlar::ref_ptr<node, any_thread<>> next;
  };
  counting_resource<> upstream;
  shared_pool<node> pool(upstream);
  const std::size_t length = stress_rounds(100'000);
  on_threads(3, [&](std::size_t) {
    ashlar::ref_ptr<node, any_thread<>> head;
    for (std::size_t i = 0; i < length; ++i) {
      auto fresh = pool.make();
      fresh->next = std::move(head);
      head = std::move(fresh);
    }
  });
  EXPECT_TRUE(pool.empty());
  EXPECT_TRUE(pool.invariant());
}

}  // namespace
