// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that end while others count, release and destroy the pools they used; pools on pools.
#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/build.hpp"
#include "tests/support/deadline.hpp"
#include "tests/support/stress.hpp"
#include "tests/threads/stacked_pools.hpp"

namespace {

using ashlar_test::deadline;
using ashlar_test::pool_type;
using ashlar_test::slab;
using ashlar_test::stress_rounds;
using ashlar_test::upper_pool;
using ashlar_test::use;

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
