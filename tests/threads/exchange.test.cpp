// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Containers over thread-cached pools that move between threads, with an oracle in every element.
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/face/pool_allocator.hpp>

#include "tests/support/build.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::thread_cached;
using ashlar_test::stress_rounds;

template <class T>
using cached = ashlar::pool_allocator<T, thread_cached>;

template <class F>
void on_threads(std::size_t count, F f) {
  std::vector<std::thread> threads;
  for (std::size_t who = 0; who < count; ++who) threads.emplace_back(f, who);
  for (std::thread& each : threads) each.join();
}

// Each test has its own size, and so its own pool.
template <std::size_t Bytes>
struct element {
  std::uint32_t owner = 0;
  std::uint32_t sequence = 0;
  std::uint32_t complement = 0;
  std::byte rest[Bytes - 12] = {};

  element(std::size_t by, std::size_t number)
      : owner(static_cast<std::uint32_t>(by)), sequence(static_cast<std::uint32_t>(number)),
        complement(~(owner * 31 + sequence)) {}
  [[nodiscard]] bool is_whole() const { return complement == ~(owner * 31 + sequence); }
};

// A ring of lists: each is built by one thread and destroyed by the next.
TEST(exchange, a_list_built_in_one_thread_is_destroyed_in_another) {
  using block = element<48>;
  using list_type = std::list<block, cached<block>>;
  constexpr std::size_t threads = 3;
  const std::size_t rounds = stress_rounds(60);
  std::array<std::mutex, threads> guards;
  std::array<std::deque<list_type>, threads> arrived;
  on_threads(threads, [&](std::size_t who) {
    const std::size_t next = (who + 1) % threads;
    for (std::size_t round = 0; round < rounds; ++round) {
      list_type made;
      for (std::size_t i = 0; i < 3000; ++i) made.emplace_back(who, i);
      std::deque<list_type> mine;
      {
        const std::lock_guard hold(guards[next]);
        arrived[next].push_back(std::move(made));
      }
      {
        const std::lock_guard hold(guards[who]);
        mine.swap(arrived[who]);
      }
      for (const list_type& each : mine) {
        std::size_t expected = 0;
        for (const block& b : each) ASSERT_TRUE(b.is_whole() && b.sequence == expected++ && b.owner != who);
        ASSERT_EQ(expected, 3000u);
      }
    }
  });
  for (auto& lists : arrived) lists.clear();
}

// Trees and lists of several sizes grow, are spliced and shrink in all threads at once.
TEST(exchange, serves_containers_of_many_sizes_in_many_threads) {
  using tree_type = std::map<std::size_t, element<20>, std::less<>, cached<std::pair<const std::size_t, element<20>>>>;
  using set_type = std::set<std::size_t, std::less<>, cached<std::size_t>>;
  const std::size_t rounds = stress_rounds(40);
  std::mutex guard;
  tree_type everybodys;
  on_threads(3, [&](std::size_t who) {
    for (std::size_t round = 0; round < rounds; ++round) {
      tree_type mine;
      set_type keys;
      for (std::size_t i = 0; i < 500; ++i) {
        mine.try_emplace(i * 3 + who, who, i);
        keys.insert(i * 7919 % 1000);
      }
      const std::lock_guard hold(guard);
      everybodys.merge(mine);  // moves nodes; duplicates stay in `mine` and are freed here
      for (std::size_t i = 0; i < 200; ++i) everybodys.erase((i * 7 + round) % 1500);
    }
  });
  for (const auto& [key, value] : everybodys) ASSERT_TRUE(value.is_whole());
}

// The classic benchmark, with a bound on the memory that it leaves.
TEST(exchange, what_two_threads_built_and_destroyed_goes_back) {
  using block = element<24>;
  using list_type = std::list<block, cached<block>>;
  using node_pool = ashlar::detail::process_pool<24 + 2 * sizeof(void*), alignof(void*), thread_cached>;
  const std::size_t elements = stress_rounds(300'000);
  on_threads(2, [&](std::size_t who) {
    list_type mine;
    for (std::size_t i = 0; i < elements; ++i) mine.emplace_back(who, i);
  });
  node_pool::with_pool([](auto& pool) {
    EXPECT_EQ(pool.live(), 0u);
    static_cast<void>(pool.trim());
    EXPECT_EQ(pool.slabs(), 0u) << "no thread has any cell at hand";
    EXPECT_TRUE(pool.invariant());
  });
}

}  // namespace
