// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forks among several pools and pools on pools, and threads that use, end, count, release and destroy them meanwhile.
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"
#include "tests/support/deadline.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar_test::child_does;
using ashlar_test::deadline;
using ashlar_test::stress_rounds;

// Pools on each other, and a workload for them.
using pool_type = ashlar::shared_block_pool<>;
using upper_pool = ashlar::shared_block_pool<ashlar::resource_ref<pool_type>>;

constexpr std::size_t slab = 16 * 1024;

void use(auto& pool, std::size_t cells) {
  std::vector<void*> taken(cells);
  for (void*& each : taken) each = pool.allocate();
  for (void* const each : taken) pool.deallocate(each);
}

// For a child. Under TSan it has no threads of its own, and AddressSanitizer may leave it a lock that threads take as
// they end (that of the statistics of dead threads).
bool works(auto& pool) {
  use(pool, 500);
  if constexpr (!ashlar_test::has_tsan && !ashlar_test::has_asan) std::thread([&] { use(pool, 500); }).join();
  return pool.invariant();
}

// Repeats a call until it is destroyed.
template <class F>
class busy_thread {
public:
  explicit busy_thread(F f) : f_(std::move(f)) {}
  ~busy_thread() {
    stop_ = true;
    thread_.join();
  }

private:
  F f_;
  std::atomic<bool> stop_ = false;
  std::thread thread_{[this] {
    while (!stop_.load(std::memory_order_relaxed)) f_();
  }};
};

// Two of the pools share an entry of the thread's table, so that one needs the slow path.
TEST(forks, of_a_thread_that_uses_many_pools) {
  const deadline hang;
  std::vector<std::unique_ptr<pool_type>> pools;
  for (int i = 0; i < 17; ++i)
    pools.push_back(std::make_unique<pool_type>(ashlar::block_pool_options{.cell_bytes = 24}));
  void* const first = pools[0]->allocate();
  void* const last = pools[16]->allocate();
  EXPECT_TRUE(child_does([&] {
    if (pools[0]->live() != 1 || pools[16]->live() != 1) return false;
    pools[0]->deallocate(first);
    pools[16]->deallocate(last);
    if (pools[0]->live() != 0 || pools[16]->live() != 0) return false;
    const bool good = works(*pools[0]) && works(*pools[16]);
    pools.clear();
    return good;
  }));
  pools[0]->deallocate(first);
  pools[16]->deallocate(last);
}

TEST(forks, keep_cached_cells_and_cells_in_transit) {
  const deadline hang;
  pool_type pool({.cell_bytes = 64});
  std::vector<void*> cells(20'000);
  for (void*& each : cells) each = pool.allocate();
  for (std::size_t i = 0; i < 15'001; ++i) pool.deallocate(cells[i]);
  EXPECT_TRUE(child_does([&] {
    if (pool.live() != 4'999 || !pool.invariant()) return false;
    for (std::size_t i = 15'001; i < cells.size(); ++i) pool.deallocate(cells[i]);
    pool.flush();
    return pool.trim() != 0 && pool.slabs() == 0;
  }));
  for (std::size_t i = 15'001; i < cells.size(); ++i) pool.deallocate(cells[i]);
}

// The lower pool was used first or last, so that the fork takes its lock first or last.
TEST(forks, of_pools_on_pools_while_threads_use_and_end_them) {
  const deadline hang;
  for (const bool lower_first : {true, false}) {
    pool_type lower({.cell_bytes = slab, .cell_alignment = slab});
    if (lower_first) use(lower, 1);
    upper_pool upper({.cell_bytes = 24, .slab_bytes = slab, .retain_slabs = 0}, lower);
    use(upper, 1000);
    const busy_thread ending([&] { std::thread([&] { use(upper, 3000); }).join(); });
    for (std::size_t round = 0; round < stress_rounds(200); ++round)
      ASSERT_TRUE(child_does([&] { return works(upper) && works(lower); })) << "in round " << round;
  }
}

// The forking thread has used the pools: its end must find their links unlocked in the child too.
TEST(forks, while_another_thread_destroys_pools) {
  const deadline hang;
  for (std::size_t round = 0; round < stress_rounds(300); ++round) {
    auto pool = std::make_unique<pool_type>(ashlar::block_pool_options{.cell_bytes = 24, .slab_bytes = slab});
    std::atomic<bool> is_used = false;
    std::thread destroyer([&] {
      while (!is_used.load(std::memory_order_acquire)) std::this_thread::yield();  // pairs with the store below
      pool.reset();
    });
    std::thread([&] {
      use(*pool, 4000);
      is_used.store(true, std::memory_order_release);  // pairs with the destroyer's load
      EXPECT_TRUE(child_does([] {
        pool_type own({.cell_bytes = 24});
        return works(own);  // retires the remains of the other
      })) << "in round "
          << round;
    }).join();
    destroyer.join();
  }
}

// A pool that no thread with a cache has used gets its link during the fork.
TEST(forks, while_threads_use_a_pool_for_the_first_time) {
  const deadline hang;
  for (std::size_t round = 0; round < stress_rounds(200); ++round) {
    pool_type pool({.cell_bytes = 24, .slab_bytes = slab});
    std::array<std::thread, 2> users;
    for (std::thread& each : users) each = std::thread([&] { use(pool, 100); });
    EXPECT_TRUE(child_does([&] { return works(pool); })) << "in round " << round;
    for (std::thread& each : users) each.join();
    ASSERT_EQ(pool.live(), 0u);
  }
}

// No cell of it was taken before the fork.
TEST(forks, while_another_thread_reserves) {
  const deadline hang;
  pool_type pool({.cell_bytes = 24, .slab_bytes = slab});
  std::atomic<bool> has_begun = false;
  const busy_thread reserving([&] {
    pool.reserve(10'000);
    static_cast<void>(pool.trim());
    has_begun = true;
  });
  while (!has_begun) std::this_thread::yield();
  for (std::size_t round = 0; round < stress_rounds(100); ++round)
    ASSERT_TRUE(child_does([&] { return works(pool); })) << "in round " << round;
}

// Frees beyond the thread cache are noted in memory that the end of the thread gives back.
TEST(pool_ends, live_is_asked_while_threads_work_and_end) {
  const deadline hang;
  pool_type pool({.cell_bytes = 24});
  void* const kept = pool.allocate();
  std::atomic<bool> stop = false;
  std::atomic<std::size_t> least = 1;
  std::thread monitor([&] {
    while (!stop.load(std::memory_order_relaxed))
      if (const std::size_t live = pool.live(); live < least) least = live;
  });
  for (std::size_t round = 0; round < stress_rounds(500); ++round) std::thread([&] { use(pool, 4000); }).join();
  stop = true;
  monitor.join();
  EXPECT_EQ(least, 1u) << "it may count too many, never too few";
  EXPECT_EQ(pool.live(), 1u);
  pool.deallocate(kept);
}

// The end of the upper pool gives slabs to the lower one, whose cache in this thread needs the slow path.
TEST(pool_ends, a_pool_on_a_pool_is_destroyed) {
  const deadline hang;
  pool_type lower({.cell_bytes = slab, .cell_alignment = slab});
  {
    upper_pool upper({.cell_bytes = 24, .slab_bytes = slab}, lower);
    use(upper, 100'000);
    std::vector<std::unique_ptr<pool_type>> more;
    for (int i = 0; i < 16; ++i) {
      more.push_back(std::make_unique<pool_type>(ashlar::block_pool_options{.cell_bytes = 32}));
      use(*more.back(), 1);
    }
  }
  EXPECT_EQ(lower.live(), 0u);
}

TEST(pool_ends, threads_of_a_pool_on_a_pool_end) {
  const deadline hang;
  pool_type lower({.cell_bytes = slab, .cell_alignment = slab});
  for (std::size_t round = 0; round < stress_rounds(100); ++round) {
    upper_pool upper({.cell_bytes = 24, .slab_bytes = slab, .retain_slabs = 0}, lower);
    std::thread other([&] { use(upper, 5000); });
    use(upper, 5000);
    other.join();
    if (round % 2 == 0) upper.release();
    ASSERT_EQ(upper.live(), 0u) << "in round " << round;
  }
  lower.flush();
  EXPECT_EQ(lower.live(), 0u);
}

}  // namespace
