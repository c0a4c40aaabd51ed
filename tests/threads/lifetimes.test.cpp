// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that start and end: live cells and unsent frees at their end, threads that only free, late destructors.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include <pthread.h>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/face/pool_allocator.hpp>

#include "tests/support/build.hpp"
#include "tests/support/resident.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::thread_cached;
using ashlar_test::resident_bytes;
using ashlar_test::stress_rounds;

// Each test has its own size, and so its own pool.
template <std::size_t Bytes>
struct cell_pool {
  using pool = ashlar::detail::process_pool<Bytes, 8, thread_cached>;

  static std::uint64_t* allocate() { return static_cast<std::uint64_t*>(pool::allocate()); }
  static void free(void* cell) { pool::deallocate(cell); }
  static std::size_t live() {
    return pool::with_pool([](auto& p) { return p.live(); });
  }
  static std::size_t bytes_held() {
    return pool::with_pool([](auto& p) { return p.slabs() * p.slab_bytes(); });
  }
  static bool is_sound() {
    return pool::with_pool([](auto& p) { return p.invariant(); });
  }
  /// Returns: whether all memory goes back, so that every cache is empty.
  static bool goes_back() {
    pool::flush();
    return pool::with_pool([](auto& p) {
      static_cast<void>(p.trim());
      return p.slabs() == 0;
    });
  }
};

template <class F>
void in_a_thread(F f) {
  std::thread(f).join();
}

TEST(lifetimes, generations_of_owners_and_freers_do_not_grow) {
  using cells = cell_pool<64>;
  constexpr std::uint64_t cells_each = ashlar_test::has_tsan || ashlar_test::has_asan ? 300 : 3000;
  const std::size_t generations = 300 * stress_rounds(1);
  std::vector<std::uint64_t*> live, older;
  std::size_t early = 0, early_held = 0;
  for (std::size_t generation = 0; generation < generations; ++generation) {
    in_a_thread([&] {
      for (std::uint64_t i = 0; i < cells_each; ++i) *live.emplace_back(cells::allocate()) = i ^ generation;
    });
    in_a_thread([&] {  // cells of the former generation
      for (std::uint64_t* const cell : older) cells::free(cell);
    });
    for (std::size_t i = 0; i < live.size(); ++i) ASSERT_EQ(*live[i], i ^ generation) << "its owner has ended";
    older.swap(live);
    live.clear();
    ASSERT_EQ(cells::live(), older.size());
    if (generation == 20) early = resident_bytes(), early_held = cells::bytes_held();
  }
  EXPECT_LE(cells::bytes_held(), early_held + early_held / 20);
  if constexpr (ashlar_test::residency_means_something) EXPECT_LE(resident_bytes(), early + early / 20);
  for (std::uint64_t* const cell : older) cells::free(cell);
  EXPECT_TRUE(cells::goes_back());
}

TEST(lifetimes, a_thread_ends_with_any_number_of_frees_unsent) {
  using cells = cell_pool<80>;
  constexpr std::size_t batch = 64 * 1024 / 80;
  std::vector<std::uint64_t*> live;
  const std::size_t step = 97 / stress_rounds(1) + 1;
  for (std::size_t frees = 1; frees < batch; frees += frees < 10 || frees > batch - 10 ? 1 : step) {
    for (std::size_t i = 0; i < frees; ++i) live.push_back(cells::allocate());
    in_a_thread([&] {
      for (std::uint64_t* const cell : live) cells::free(cell);
    });
    live.clear();
    ASSERT_EQ(cells::live(), 0u) << frees;
  }
  EXPECT_TRUE(cells::goes_back());
}

// Two threads keep a queue full, one empties it. The queue holds the live bytes; the rest is the cost of remote frees.
class one_sided {
public:
  using cells = cell_pool<512>;
  static constexpr std::size_t depth = 40'000;

  void run(std::size_t messages) {
    const std::size_t before = resident_bytes();
    std::thread first([&] { produce(messages / 2); });
    std::thread second([&] { produce(messages / 2); });
    std::thread freer([&] { free_all(messages / 2 * 2, before); });
    first.join();
    second.join();
    freer.join();
    EXPECT_EQ(cells::live(), 0u);
    EXPECT_LE(static_cast<double>(most_held_), 1.3 * bytes_live);
    if constexpr (ashlar_test::residency_means_something)
      EXPECT_LE(static_cast<double>(most_resident_), 1.3 * bytes_live);
    EXPECT_TRUE(cells::goes_back());
  }

private:
  static constexpr double bytes_live = double{depth} * 512;

  void produce(std::size_t messages) {
    while (messages != 0) {
      std::uint64_t* const cell = cells::allocate();
      std::fill_n(cell, 64, messages);
      push(cell);
      --messages;
    }
  }

  void push(std::uint64_t* cell) {
    for (;; std::this_thread::yield()) {
      const std::lock_guard hold(guard_);
      if (queue_.size() >= depth) continue;
      queue_.push_back(cell);
      return;
    }
  }

  // Frees a part of a full queue, so that the live bytes stay nearly constant.
  void free_all(std::size_t messages, std::size_t before) {
    for (std::size_t done = 0; done < messages;) {
      std::vector<std::uint64_t*> taken;
      {
        const std::lock_guard hold(guard_);
        if (queue_.size() < depth && done + queue_.size() < messages) taken = {};
        else
          while (!queue_.empty() && taken.size() < 100) taken.push_back(queue_.back()), queue_.pop_back();
      }
      if (taken.empty()) std::this_thread::yield();
      for (std::uint64_t* const cell : taken) {
        ASSERT_EQ(cell[0], cell[63]);
        cells::free(cell);
      }
      if ((done += taken.size()) % 1000 == 0) measure(before);
    }
  }

  void measure(std::size_t before) {
    most_held_ = std::max(most_held_, cells::bytes_held());
    most_resident_ = std::max(most_resident_, resident_bytes() - std::min(before, resident_bytes()));
  }

  std::mutex guard_;
  std::vector<std::uint64_t*> queue_;
  std::size_t most_held_ = 0;
  std::size_t most_resident_ = 0;
};

TEST(lifetimes, a_thread_that_only_frees_does_not_hoard) { one_sided().run(one_sided::depth + stress_rounds(200'000)); }

// Made before the thread's first cell, so that it is destroyed after the thread's cache.
struct late_user {
  std::vector<std::uint64_t*> cells;
  ~late_user() {
    using pool = cell_pool<120>;
    for (std::uint64_t* const cell : cells) pool::free(cell);
    for (int i = 0; i < 300; ++i) pool::free(pool::allocate());
  }
};

TEST(lifetimes, thread_local_destructors_may_allocate_and_free) {
  using pool = cell_pool<120>;
  for (std::size_t round = 0; round < stress_rounds(50); ++round) {
    in_a_thread([] {
      thread_local late_user late;
      late.cells.resize(500);
      for (std::uint64_t*& cell : late.cells) cell = pool::allocate();
    });
    ASSERT_EQ(pool::live(), 0u);
  }
  EXPECT_TRUE(pool::is_sound());
  EXPECT_TRUE(pool::goes_back());
}

// A key with a destructor that allocates, frees, and sets the key again, for more rounds than the system runs. (TSan
// ends itself in the last of them.)
template <std::size_t Bytes>
struct restless_key {
  using pool = cell_pool<Bytes>;
  static constexpr std::uintptr_t rounds = ashlar_test::has_tsan ? 2 : 8;

  static inline pthread_key_t key = {};
  static inline std::atomic<std::size_t> runs = 0;

  static void run(void* value) {
    runs.fetch_add(1, std::memory_order_relaxed);
    std::array<std::uint64_t*, 40> cells = {};
    for (std::uint64_t*& cell : cells) cell = pool::allocate();
    for (std::uint64_t* const cell : cells) pool::free(cell);
    arm(reinterpret_cast<std::uintptr_t>(value) - 1);
  }

  static void arm(std::uintptr_t left) {
    if (left != 0) ASSERT_EQ(::pthread_setspecific(key, reinterpret_cast<void*>(left)), 0);
  }
};

template <std::size_t Bytes>
void use_keys(bool before_too) {
  using first = restless_key<Bytes>;
  using second = restless_key<Bytes + 8>;
  ASSERT_EQ(::pthread_key_create(&first::key, &first::run), 0);
  ASSERT_EQ(::pthread_key_create(&second::key, &second::run), 0);
  for (std::size_t i = 0; i < 50; ++i) {
    in_a_thread([&] {
      if (before_too) first::pool::free(first::pool::allocate());
      if (before_too) second::pool::free(second::pool::allocate());
      first::arm(first::rounds);
      second::arm(second::rounds);
    });
    ASSERT_TRUE(first::pool::is_sound() && second::pool::is_sound()) << "after thread " << i;
    ASSERT_EQ(first::pool::live(), 0u) << "after thread " << i;
    ASSERT_EQ(second::pool::live(), 0u);
  }
  EXPECT_GE(first::runs.load(), 50u);
  EXPECT_TRUE(first::pool::goes_back() && second::pool::goes_back());
  ::pthread_key_delete(first::key);
  ::pthread_key_delete(second::key);
}

TEST(lifetimes, destructors_of_keys_may_allocate_and_free) { use_keys<136>(true); }

TEST(lifetimes, destructors_of_keys_may_be_the_first_to_allocate) {
  if constexpr (ashlar_test::has_asan) GTEST_SKIP() << "the C library leaks its note of a destructor that never runs";
  use_keys<152>(false);
}

}  // namespace
