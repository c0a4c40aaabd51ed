// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the pool for any thread: the laws of a resource, cells that change threads, ends of threads and of pools.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/serialised_ref.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::shared_block_pool;
using ashlar_test::counting_resource;

using counted_pool = shared_block_pool<ashlar_test::serialised_ref<>>;

struct small_cells : ashlar_test::cells_over_counts<24, 8> {
  counted_pool resource{{.cell_bytes = 24, .slab_bytes = 4096}, upstream};
};

struct tiny_cells : ashlar_test::cells_over_counts<5, 1> {
  counted_pool resource{{.cell_bytes = 5, .slab_bytes = 4096, .retain_slabs = 0}, upstream};
};

struct cells_in_pages : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 128;
  static constexpr std::size_t largest = 128;
  static constexpr bool exhaustible = false;
  shared_block_pool<> resource{{.cell_bytes = 128, .cell_alignment = 128}};
};

std::vector<void*> take(auto& pool, std::size_t cells) {
  std::vector<void*> taken(cells);
  for (std::size_t i = 0; i < cells; ++i) {
    taken[i] = pool.allocate();
    std::memcpy(taken[i], &i, sizeof i);
  }
  return taken;
}

// Checks that each cell still holds its number.
void check_and_free(auto& pool, const std::vector<void*>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::size_t number = 0;
    std::memcpy(&number, cells[i], sizeof number);
    ASSERT_EQ(number, i);
    pool.deallocate(cells[i]);
  }
}

// Allocates, uses and frees cells with and without a size, while other threads do the same with neighbouring cells.
void use_cells_over_and_over(shared_block_pool<>& pool) {
  std::array<void*, 8> sized{}, unsized{};
  for (std::size_t round = 0; round < ashlar_test::cases_of_build(4'000U, 10'000U); ++round) {
    const std::size_t bytes = round % (pool.cell_bytes() + 1);
    for (void*& cell : sized) cell = std::memset(pool.allocate(bytes, 1), 1, bytes);
    for (void*& cell : unsized) cell = std::memset(pool.allocate(), 2, pool.cell_bytes());
    for (void* const cell : sized) pool.deallocate(std::memset(cell, 3, bytes), bytes, 1);
    for (void* const cell : unsized) pool.deallocate(std::memset(cell, 4, pool.cell_bytes()));
  }
}

// AddressSanitizer has one mark for 8 bytes, so cells of other sizes share marks.
TEST(shared_block_pool, threads_use_neighbouring_cells_that_share_marks) {
  for (const std::size_t cell_bytes : {1U, 4U, 12U, 20U}) {
    shared_block_pool<> pool({.cell_bytes = cell_bytes});
    ashlar_test::on_threads(4, [&pool](std::size_t) { use_cells_over_and_over(pool); });
    EXPECT_EQ(pool.live(), 0U);
  }
}

TEST(shared_block_pool, a_thread_gives_its_cached_cells_back_by_flush_and_at_its_end) {
  shared_block_pool pool({.cell_bytes = 64});
  std::thread([&] {
    check_and_free(pool, take(pool, 1000));
    pool.flush();
    EXPECT_EQ(pool.trim() / pool.slab_bytes(), 1U);
    EXPECT_EQ(pool.slabs(), 0U);
    check_and_free(pool, take(pool, 1000));
  }).join();
  EXPECT_GT(pool.trim(), 0U);
  EXPECT_EQ(pool.slabs(), 0U);
}

// Both pools share one entry of the thread's table, so each call takes the slow path to a cache that is not empty.
TEST(shared_block_pool, a_thread_uses_pools_in_turn_that_share_a_place_in_its_table) {
  std::vector<std::unique_ptr<shared_block_pool<>>> pools;
  for (int i = 0; i < 17; ++i)
    pools.push_back(std::make_unique<shared_block_pool<>>(ashlar::block_pool_options{.cell_bytes = 64}));
  std::array<std::vector<void*>, 2> cells;
  for (int i = 0; i < 5000; ++i)
    for (std::size_t which = 0; which < 2; ++which) cells[which].push_back(pools[which * 16]->allocate());
  EXPECT_EQ(pools[0]->live(), 5000U);
  EXPECT_LE(pools[0]->capacity(), 2 * 5000U);
  for (std::size_t i = 0; i < 5000; ++i)
    for (std::size_t which = 0; which < 2; ++which) pools[which * 16]->deallocate(cells[which][i]);
  for (const std::size_t which : {0U, 16U}) {
    EXPECT_EQ(pools[which]->live(), 0U);
    static_cast<void>(pools[which]->trim());
    EXPECT_EQ(pools[which]->slabs(), 0U);
  }
}

TEST(shared_block_pool, pools_come_and_go_while_threads_stay) {
  counting_resource<> upstream;
  std::optional<counted_pool> pool;
  std::atomic<int> turn = 0;
  std::thread worker([&] {
    for (int round = 0; round < 40; ++round) {
      while (turn.load(std::memory_order_acquire) != 2 * round + 1) std::this_thread::yield();
      for (void* cell : take(*pool, 3000)) pool->deallocate(cell);
      if (round % 2 == 0) pool->flush();
      turn.store(2 * round + 2, std::memory_order_release);
    }
  });
  for (int round = 0; round < 40; ++round) {
    pool.emplace(ashlar::block_pool_options{.cell_bytes = 32, .slab_bytes = 8192}, upstream);
    void* const kept = pool->allocate();  // the pool goes with a live cell and with the worker's cached cells
    pool->deallocate(kept);
    turn.store(2 * round + 1, std::memory_order_release);
    while (turn.load(std::memory_order_acquire) != 2 * round + 2) std::this_thread::yield();
    if (round % 2 == 0) EXPECT_EQ(pool->live(), 0U);
    pool.reset();
    EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
  }
  worker.join();
}

TEST(shared_block_pool, retains_empty_slabs_by_its_policy) {
  counting_resource<> upstream;
  counted_pool pool({.cell_bytes = 64, .slab_bytes = 4096, .retain_slabs = ashlar::never_release}, upstream);
  check_and_free(pool, take(pool, 5000));
  pool.flush();
  EXPECT_GT(pool.slabs(), 70U);
  pool.retain(ashlar::release_now);
  EXPECT_EQ(pool.slabs(), 0U);
  check_and_free(pool, take(pool, 5000));
  pool.flush();
  EXPECT_EQ(pool.slabs(), 0U);
}

TEST(shared_block_pool, starts_after_a_release_as_at_first) {
  shared_block_pool<> pool({.cell_bytes = 24});
  static_cast<void>(pool.allocate());
  const std::size_t first = pool.held_bytes();
  static_cast<void>(take(pool, 10'000));
  pool.release();
  static_cast<void>(pool.allocate());
  EXPECT_EQ(pool.held_bytes(), first);
  pool.release();
}

TEST(shared_block_pool, reserve_needs_the_upstream_now_and_not_later) {
  counting_resource<> upstream;
  counted_pool pool({.cell_bytes = 16, .slab_bytes = 4096}, upstream);
  pool.reserve(3000);
  EXPECT_GE(pool.capacity(), 3000U);
  const std::size_t slabs = pool.slabs();
  check_and_free(pool, take(pool, 3000));
  EXPECT_EQ(pool.slabs(), slabs) << "reserved slabs stay";
  static_cast<void>(pool.trim());
  EXPECT_EQ(pool.slabs(), 0U);
}

TEST(shared_block_pool, reports_a_call_that_comes_after_the_end) {
  alignas(shared_block_pool<>) static std::byte memory[sizeof(shared_block_pool<>)];
  auto* const pool = ::new (memory) shared_block_pool<>({.cell_bytes = 24});
  void* const cell = pool->allocate();
  pool->deallocate(cell);
  if (ashlar::checking_level < ashlar::checking::checked) {
    pool->~shared_block_pool();
    GTEST_SKIP() << "needs level checked";
  }
  pool->~shared_block_pool();
  EXPECT_DEATH(pool->deallocate(cell), "use_after_destroy");
  EXPECT_DEATH(static_cast<void>(pool->allocate()), "use_after_destroy");
}

using shared_block_pools = ashlar_test::subjects<small_cells, tiny_cells, cells_in_pages>;

const bool tested = ashlar_test::conforms("shared_block_pool", shared_block_pools{});

}  // namespace
