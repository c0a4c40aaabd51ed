// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of pools whose system takes nothing back, and of very large ones.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/faulty_calls.hpp"

namespace {

using ashlar::block_pool;
struct in_this_test {};
using calls = ashlar_test::faulty_calls<in_this_test>;
using failing_pages = ashlar::basic_page_resource<ashlar::fresh::populated, ashlar::os::basic_pages<calls>>;
using failing_pool = block_pool<failing_pages>;

/// Returns: the cells that the pool gave before its refusal, at most `most`.
std::vector<void*> fill(auto& pool, std::size_t most) {
  std::vector<void*> cells;
  while (cells.size() < most) {
    void* const cell = pool.try_allocate();
    if (cell == nullptr) break;
    cells.push_back(cell);
  }
  return cells;
}

void expect_usable(auto& pool, std::vector<void*>& cells, std::size_t most) {
  EXPECT_TRUE(pool.invariant());
  EXPECT_EQ(pool.live(), cells.size());
  for (void* const cell : cells) pool.deallocate(cell);
  cells = fill(pool, most);
  EXPECT_EQ(cells.size(), most);
  for (void* const cell : cells) pool.deallocate(cell);
  EXPECT_EQ(pool.live(), 0u);
  EXPECT_TRUE(pool.invariant());
}

TEST(pool_faults_memory, a_system_that_takes_nothing_back_costs_address_space_only) {
  calls::faults = {};
  failing_pool pool({.cell_bytes = 4000, .slab_bytes = 4096 * 4, .retain_slabs = 0});
  std::vector<void*> cells = fill(pool, 60);  // aligned slabs, while the system still trims
  calls::faults.unmaps.fail_from(0), calls::faults.discards.fail_from(0);
  for (void* const cell : cells) pool.deallocate(cell);
  EXPECT_EQ(pool.live(), 0u);
  EXPECT_TRUE(pool.invariant());
  EXPECT_GT(calls::faults.refusals, 0u);
  calls::faults.fail_never();
  cells.clear();
  expect_usable(pool, cells, 60);
  calls::faults.give_back_lost();
}

// Counts are as wide as the address space, sizes inside a slab are checked to fit their 32 bits.
using pool_type = block_pool<>;
static_assert(std::is_same_v<decltype(std::declval<pool_type&>().live()), std::size_t>);
static_assert(std::is_same_v<decltype(std::declval<pool_type&>().capacity()), std::size_t>);
static_assert(std::is_same_v<decltype(std::declval<pool_type&>().slabs()), std::size_t>);
static_assert(sizeof(ashlar::allocation_counters::allocations) == 8, "totals outlive 2^32 calls");
static_assert(sizeof(ashlar::detail::slab::capacity) == 4 && sizeof(ashlar::detail::slab::free) == 4);
constexpr std::size_t largest_slab = std::size_t{1} << 31;
static_assert(largest_slab - 1 <= std::numeric_limits<std::uint32_t>::max(), "a slab has fewer than 2^32 cells");
constexpr auto most_cells = ashlar::detail::make_slab_geometry({.cell_bytes = 1, .slab_bytes = largest_slab});
static_assert(most_cells.least_capacity() > largest_slab / most_cells.cell_stride() / 2);
static_assert(most_cells.words() <= largest_slab / 64);
static_assert(ashlar::detail::make_slab_geometry({.cell_bytes = 4096, .slab_bytes = largest_slab}).slab_bytes() ==
              largest_slab);

// Pools do not move: live cells, and the owners in slabs, point into them.
template <class Pool>
constexpr bool stays = !std::is_move_constructible_v<Pool> && !std::is_copy_constructible_v<Pool> &&
                       !std::is_move_assignable_v<Pool> && !std::is_copy_assignable_v<Pool>;
static_assert(stays<pool_type> && stays<ashlar::fixed_block_pool<24>>);

// Cells of 128 MiB: offsets in a slab reach its 2 GiB.
TEST(pool_faults_memory, the_largest_cells_fill_the_largest_slabs) {
  if (sizeof(void*) == 4 || ashlar_test::has_asan || ashlar_test::has_tsan) GTEST_SKIP() << "no such address space";
  if (ashlar_test::is_hardened) GTEST_SKIP() << "to poison 8 GiB takes 20 seconds; geometry is the same at each level";
  constexpr std::size_t cell_bytes = std::size_t{1} << 27;
  using plain_pages = ashlar::basic_page_resource<ashlar::fresh::plain>;
  block_pool<plain_pages> pool({.cell_bytes = cell_bytes, .slab_bytes = largest_slab});
  std::vector<void*> cells = fill(pool, 70);
  if (cells.size() < 70) {
    pool.release();
    GTEST_SKIP() << "this machine does not grant 10 GiB of address space";
  }
  EXPECT_EQ(pool.live(), 70u);
  expect_usable(pool, cells, 70);
}

TEST(pool_faults_memory, a_pool_beyond_2_to_the_33_bytes_counts_right) {
  if (sizeof(void*) == 4 || ashlar_test::has_asan || ashlar_test::has_tsan) GTEST_SKIP() << "no such address space";
  if (ashlar_test::is_hardened) GTEST_SKIP() << "to poison 8 GiB takes 20 seconds; geometry is the same at each level";
  constexpr std::size_t cell_bytes = 4096;
  using plain_pages = ashlar::basic_page_resource<ashlar::fresh::plain>;
  block_pool<plain_pages> pool({.cell_bytes = cell_bytes, .slab_bytes = largest_slab});
  constexpr std::size_t cells = (std::size_t{1} << 21) + 1000;
  std::vector<void*> taken(cells);
  for (void*& cell : taken) {
    cell = pool.try_allocate();
    if (cell == nullptr) {
      pool.release();
      GTEST_SKIP() << "this machine does not grant 10 GiB of address space";
    }
  }
  EXPECT_EQ(pool.live(), cells);
  EXPECT_GE(std::uint64_t{pool.capacity()} * cell_bytes, std::uint64_t{1} << 33);
  EXPECT_GE(pool.slabs(), 5u);
  std::ranges::sort(taken);
  EXPECT_EQ(std::ranges::adjacent_find(taken), taken.end());
  EXPECT_TRUE(pool.owns(taken.back()) && pool.owns(static_cast<std::byte*>(taken.back()) + cell_bytes - 1));
  pool.deallocate(taken.back());
  EXPECT_EQ(pool.live(), cells - 1);
  pool.release();
  EXPECT_EQ(pool.live() + pool.capacity(), 0u);
}

}  // namespace
