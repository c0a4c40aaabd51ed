// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that correct programs raise no report: of every kind, under stress, at every level.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/guarding.hpp>
#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pmr_resource.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/live_blocks.hpp"

namespace {

using ashlar::block_pool;

std::atomic<int> leaks = 0;

// A violation ends the test program, as any other program; a leak fails the test.
class pool_faults_none : public ::testing::Test {
protected:
  void SetUp() override {
    leaks = 0;
    ashlar::set_leak_handler([](const ashlar::leaked_blocks&) noexcept { ++leaks; });
  }
  void TearDown() override {
    ashlar::set_leak_handler(nullptr);
    EXPECT_EQ(leaks, 0);
  }
};

constexpr std::size_t steps = ashlar_test::has_asan || ashlar_test::has_tsan ? 5'000 : 40'000;

// Every permitted size and alignment, through the resource interface.
template <class R>
void walk(R& r, std::size_t largest, unsigned seed) {
  std::mt19937 random(seed);
  ashlar_test::live_blocks blocks(r);
  for (std::size_t step = 0; step < steps; ++step)
    if (blocks.size() == 0 || (blocks.size() < 600 && random() % 2 == 0))
      ASSERT_TRUE(blocks.try_allocate(random() % (largest + 1), std::size_t{1} << (random() % 7)));
    else blocks.free(random() % blocks.size());
}

TEST_F(pool_faults_none, blocks_of_every_size_through_pools_of_every_size) {
  for (const std::size_t cell_bytes : {1u, 8u, 24u, 48u, 200u}) {
    block_pool<> pool({.cell_bytes = cell_bytes});
    walk(pool, cell_bytes + cell_bytes / 4, 1);
    EXPECT_EQ(pool.live(), 0u);
  }
}

TEST_F(pool_faults_none, cells_come_and_go_in_every_order) {
  block_pool<> pool({.cell_bytes = 24, .slab_bytes = 4096, .retain_slabs = 0});
  std::mt19937 random(2);
  std::vector<void*> cells;
  for (std::size_t step = 0; step < steps; ++step) {
    if (cells.empty() || random() % 2 == 0) {
      cells.push_back(pool.allocate());
    } else {
      std::swap(cells[random() % cells.size()], cells.back());
      pool.deallocate(cells.back());
      cells.pop_back();
    }
    if (step % 1000 == 0) static_cast<void>(pool.trim());
  }
  for (void* const cell : cells) pool.deallocate(cell);
}

TEST_F(pool_faults_none, two_pools_of_one_size_side_by_side) {
  block_pool<> a({.cell_bytes = 32, .cell_alignment = 16});
  block_pool<> b({.cell_bytes = 32, .cell_alignment = 16});
  std::vector<void*> of_a;
  std::vector<void*> of_b;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 500; ++i) of_a.push_back(a.allocate()), of_b.push_back(b.allocate());
    while (of_a.size() > 100) {
      a.deallocate(of_a.back()), of_a.pop_back();
      b.deallocate(of_b.back(), 32, 16), of_b.pop_back();
    }
  }
  for (void* const cell : of_a) a.deallocate(cell);
  for (void* const cell : of_b) b.deallocate(cell);
}

TEST_F(pool_faults_none, a_pool_on_a_pool_on_a_buffer) {
  alignas(64 * 1024) static std::array<std::byte, 256 * 1024> memory;
  ashlar::buffer_resource buffer(memory);
  using lower_type = block_pool<ashlar::resource_ref<ashlar::buffer_resource>>;
  lower_type lower({.cell_bytes = 4096, .cell_alignment = 4096, .slab_bytes = 64 * 1024}, buffer);
  block_pool<ashlar::resource_ref<lower_type>> upper({.cell_bytes = 40, .slab_bytes = 4096, .retain_slabs = 0}, lower);
  for (int round = 0; round < 10; ++round) {
    std::vector<void*> cells(1000);
    for (void*& cell : cells) cell = upper.allocate();
    for (void* const cell : cells) upper.deallocate(cell);
  }
}

TEST_F(pool_faults_none, containers_over_one_pool) {
  using pool_type = block_pool<>;
  pool_type pool({.cell_bytes = 96});
  const auto from = [&]<class T>(std::type_identity<T>) { return ashlar::allocator<T, pool_type>(pool); };
  using pair = std::pair<const int, std::string>;
  std::map<int, std::string, std::less<>, ashlar::allocator<pair, pool_type>> map(from(std::type_identity<pair>()));
  std::list<int, ashlar::allocator<int, pool_type>> list(from(std::type_identity<int>()));
  std::deque<int, ashlar::allocator<int, pool_type>> deque(from(std::type_identity<int>()));
  std::vector<int, ashlar::allocator<int, pool_type>> vector(from(std::type_identity<int>()));
  for (int i = 0; i < 3000; ++i) {
    map[i % 700] += 'x';
    list.push_back(i);
    deque.push_front(i);
    vector.push_back(i);
    if (i % 5 == 0) list.pop_front(), deque.pop_back(), map.erase(i % 300);
  }
  auto moved = std::move(list);
  moved.sort(std::greater<>());
  moved.splice(moved.begin(), list);
  vector.shrink_to_fit();
}

TEST_F(pool_faults_none, containers_over_pmr) {
  ashlar::pmr_resource<block_pool<>> resource(ashlar::block_pool_options{.cell_bytes = 64});
  std::pmr::unordered_map<int, std::pmr::string> words(&resource);
  std::pmr::set<std::pmr::vector<int>> sets(&resource);
  for (int i = 0; i < 2000; ++i) {
    words.emplace(i, "a string that does not fit into itself");
    sets.emplace(static_cast<std::size_t>(i % 40), i);
    if (i % 3 == 0) words.erase(i / 2);
  }
}

TEST_F(pool_faults_none, guarded_pools_and_counted_ones) {
  using guarded = ashlar::guarding<block_pool<>>;
  guarded pool(ashlar::block_pool_options{.cell_bytes = guarded::guarded_bytes(64, 16), .cell_alignment = 16});
  walk(pool, 80, 3);
  ashlar::statistics<ashlar::guarding<ashlar::statistics<block_pool<>>>> deep(
      ashlar::block_pool_options{.cell_bytes = 200});
  walk(deep, 120, 4);
}

// Single objects and arrays, in four threads, passed from one to the next.
template <class Lock>
void pass_lists_on() {
  using list_type = std::list<int, ashlar::pool_allocator<int, Lock>>;
  using table_type = std::vector<long, ashlar::pool_allocator<long, Lock>>;
  std::mutex handing_over;
  list_type passed_on;
  const auto work = [&] {
    for (int round = 0; round < 60; ++round) {
      list_type mine(50, round);
      table_type table(static_cast<std::size_t>(round % 7));
      table.push_back(1);
      const std::lock_guard hold(handing_over);
      passed_on.swap(mine);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& each : threads) each.join();
}

TEST_F(pool_faults_none, process_pools_among_threads) {
  pass_lists_on<ashlar::spin_lock>();
  pass_lists_on<std::mutex>();
}

// A slab may have room for the cells of a run, but not for its rounded length: then the run comes from the upstream.
TEST_F(pool_faults_none, runs_that_nearly_fit_a_slab) {
  for (const std::size_t cell_bytes : {1u, 7u, 24u, 59u})
    for (std::size_t slab_bytes = 1024; slab_bytes <= 8192; slab_bytes *= 2) {
      block_pool<> pool({.cell_bytes = cell_bytes, .slab_bytes = slab_bytes});
      for (std::size_t n = 0; n <= 130; ++n) pool.deallocate_run(pool.allocate_run(n), n);
      EXPECT_EQ(pool.live(), 0u) << cell_bytes << ' ' << slab_bytes;
    }
}

// Pools of different threads enter and leave the same registry.
TEST_F(pool_faults_none, pools_of_different_threads) {
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed)
    threads.emplace_back([seed] {
      for (int round = 0; round < 5; ++round) {
        block_pool<> pool({.cell_bytes = 40, .slab_bytes = 4096, .retain_slabs = 0});
        std::vector<void*> cells;
        for (int i = 0; i < 2000; ++i) cells.push_back(pool.allocate());
        std::shuffle(cells.begin(), cells.end(), std::mt19937(seed));
        for (void* const cell : cells) pool.deallocate(cell);
      }
    });
  for (std::thread& each : threads) each.join();
}

}  // namespace
