// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the pools behind stateless allocators: one for each size, alignment and lock; cells of each kind of lock.
#include <ashlar/detail/face/process_pool.hpp>

#include <cstddef>
#include <mutex>
#include <set>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/face/process_cache.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/poison.hpp>

#include "tests/support/build.hpp"
#include "tests/support/types_of_build.hpp"

namespace {

using ashlar::detail::process_pool;

template <class Lock>
class process_pool_with : public ::testing::Test {};

using locks = ashlar_test::types_of_build<
    ::testing::Types<ashlar::one_thread, std::mutex, ashlar::thread_cached>,
    ::testing::Types<ashlar::one_thread, ashlar::spin_lock, std::mutex, ashlar::thread_cached>>;
TYPED_TEST_SUITE(process_pool_with, locks);

template <class Pool>
std::size_t live_in() {
  return Pool::with_pool([](auto& pool) { return pool.live(); });
}

TYPED_TEST(process_pool_with, hands_out_distinct_aligned_cells_and_takes_them_back) {
  using pool = process_pool<48, 16, TypeParam>;
  std::set<void*> cells;
  while (cells.size() < 3000) {
    void* const cell = pool::allocate();
    EXPECT_TRUE(ashlar::detail::is_aligned(cell, 16));
    EXPECT_TRUE(cells.insert(cell).second);
  }
  EXPECT_EQ(live_in<pool>(), 3000u);
  for (void* const cell : cells) pool::deallocate(cell);
  EXPECT_EQ(live_in<pool>(), 0u);
  EXPECT_TRUE(pool::with_pool([](auto& p) { return p.invariant(); }));
}

TYPED_TEST(process_pool_with, is_another_for_another_size_or_alignment) {
  using small = process_pool<56, 8, TypeParam>;
  using aligned = process_pool<64, 64, TypeParam>;
  void* const cell = small::allocate();
  EXPECT_EQ(live_in<small>(), 1u);
  EXPECT_EQ(live_in<aligned>(), 0u);
  EXPECT_FALSE(aligned::with_pool([&](auto& pool) { return pool.owns(cell); }));
  small::deallocate(cell);
}

TYPED_TEST(process_pool_with, returns_what_its_visitor_returns) {
  using pool = process_pool<72, 8, TypeParam>;
  EXPECT_EQ(pool::with_pool([](auto&) { return 7; }), 7);
  static_assert(std::is_void_v<decltype(pool::with_pool([](auto&) {}))>);
}

TYPED_TEST(process_pool_with, reserves_and_shrinks) {
  using pool = process_pool<80, 8, TypeParam>;
  pool::with_pool([](auto& p) { p.reserve(10'000); });
  EXPECT_GE(pool::with_pool([](auto& p) { return p.capacity(); }), 10'000u);
  EXPECT_GT(pool::with_pool([](auto& p) { return p.trim(); }), 0u);
}

using cached = process_pool<88, 8, ashlar::thread_cached>;

TEST(process_pool, flush_gives_the_cached_cells_of_the_thread_back) {
  void* const cell = cached::allocate();
  const auto slabs = [] { return cached::with_pool([](auto& pool) { return pool.slabs(); }); };
  cached::deallocate(cell);
  cached::flush();
  cached::with_pool([](auto& pool) { static_cast<void>(pool.trim()); });
  EXPECT_EQ(slabs(), 0u);
  cached::flush();
}

// A program may be linked with objects compiled for libraries: the thread has a cache for each kind.
TEST(process_pool, flush_gives_the_cached_cells_back_in_either_kind_of_code) {
  using pool = process_pool<112, 8, ashlar::thread_cached>;
  using of_program = ashlar::detail::process_cache<pool, false>;
  using of_library = ashlar::detail::process_cache<pool, true>;
  for (auto* const mine : {of_program::usable(), of_library::usable()})
    pool::shared().deallocate_slow(mine, pool::shared().allocate_slow(mine));
  pool::flush();
  EXPECT_EQ(of_program::recent().held_cells(), 0u);
  EXPECT_EQ(of_library::recent().held_cells(), 0u);
  pool::with_pool([](auto& p) { static_cast<void>(p.trim()); });
  EXPECT_EQ(pool::with_pool([](auto& p) { return p.slabs(); }), 0u);
}

// Another thread's cache is open meanwhile, and holds a cell.
TEST(process_pool, flush_leaves_the_cached_cells_of_other_threads) {
  using pool = process_pool<120, 8, ashlar::thread_cached>;
  pool::deallocate(pool::allocate());
  std::thread([] {
    pool::deallocate(pool::allocate());
    pool::flush();
    EXPECT_EQ(ashlar::detail::process_cache<pool>::recent().held_cells(), 0u);
  }).join();
  if (pool::shared().caches) EXPECT_NE(ashlar::detail::process_cache<pool>::recent().held_cells(), 0u);
  pool::flush();
}

TEST(process_pool, a_thread_that_ends_gives_its_cached_cells_back) {
  using pool = process_pool<96, 8, ashlar::thread_cached>;
  void* kept = nullptr;
  std::thread([&] {
    kept = pool::allocate();
    for (int i = 0; i < 100; ++i) pool::deallocate(pool::allocate());
  }).join();
  EXPECT_EQ(live_in<pool>(), 1u);
  pool::deallocate(kept);
  pool::flush();
  pool::with_pool([](auto& p) { static_cast<void>(p.trim()); });
  EXPECT_EQ(pool::with_pool([](auto& p) { return p.slabs(); }), 0u);
}

TEST(process_pool, hands_out_the_cell_freed_last_where_it_does_not_mark_memory) {
  using pool = process_pool<104, 8, ashlar::thread_cached>;
  void* const cell = pool::allocate();
  pool::deallocate(cell);
  void* const again = pool::allocate();
  if constexpr (!ashlar_test::is_checked && !ashlar::detail::marks_memory) EXPECT_EQ(again, cell);
  pool::deallocate(again);
}

}  // namespace
