// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of an engine's calls for blocks above cells: without the lock, and counted as slow calls are.
#include <ashlar/detail/heap/large_block_calls.hpp>

#include <cstddef>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/cell_layout.hpp>
#include <ashlar/detail/heap/engine.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/heap_stores.hpp>
#include <ashlar/detail/heap/sharing.hpp>
#include <ashlar/detail/remote_free/parcel.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

using ashlar::detail::frees_travel;
using engine = ashlar::detail::owner_engine<ashlar::page_resource>;

TEST(large_block_calls, are_taken_and_given_without_the_lock) {
  if constexpr (!frees_travel) GTEST_SKIP() << "every call takes it at this level";
  engine shared({});
  void* const p = shared.allocate(100'000);
  void* const q = shared.allocate(500'000);
  const auto in = shared.locked();  // of another thread: a call that wants it waits forever
  for (int i = 0; i < 10; ++i) {
    shared.deallocate(p);
    shared.deallocate(q, 500'000);
    EXPECT_EQ(shared.allocate(500'000), q);
    EXPECT_EQ(shared.take_free_span(100'000, 16), p);
  }
  EXPECT_EQ(shared.take_free_span(100'000, 16), nullptr);
}

TEST(large_block_calls, are_no_cells_and_no_huge_blocks) {
  engine shared({});
  for (const std::size_t bytes : {std::size_t{100'000}, std::size_t{8'000'000}})
    shared.deallocate(shared.allocate(bytes));
  EXPECT_EQ(shared.take_free_span(100, 16), nullptr);
  EXPECT_EQ(shared.take_free_span(8'000'000, 16), nullptr);
  EXPECT_EQ(shared.take_free_span(100'000, std::size_t{1} << 20), nullptr);
  EXPECT_TRUE(shared.invariant());
}

TEST(large_block_calls, come_whole_from_the_bins_of_one_thread) {
  ashlar::detail::local_engine<ashlar::page_resource> mine({});
  void* const p = mine.allocate(100'000);
  EXPECT_EQ(mine.take_free_span(100'000, 16), nullptr);
  mine.deallocate(p);
  if constexpr (ashlar::checking_level < ashlar::checking::hardened) {
    EXPECT_EQ(mine.take_free_span(100'000, 16), p);
    EXPECT_EQ(mine.usable_size(p), 2 * ashlar::detail::slice_bytes);
    mine.deallocate(p);
  }
  EXPECT_TRUE(mine.invariant());
}

TEST(large_block_calls, are_slow_calls_once_each) {
  engine owner({});
  int told = 0;
  owner.sharing().on_slow_calls(&told, [](void* count) noexcept { ++*static_cast<int*>(count); });
  void* const p = owner.allocate(100'000);
  owner.deallocate(p);
  for (int i = 0; i < 39; ++i) owner.deallocate(owner.allocate(100'000));
  EXPECT_EQ(told, frees_travel ? 10 : 0);
  EXPECT_NE(owner.allocate(100'000, 16), nullptr);
  owner.release();
}

TEST(large_block_calls, unpack_the_parcels_that_wait) {
  if constexpr (!frees_travel) GTEST_SKIP() << "nothing is sent where frees are checked";
  engine owner({});
  void *p = owner.allocate(100'000), *cell = owner.allocate(512);
  while (ashlar::detail::is_sampled(cell)) cell = owner.allocate(512);
  owner.deallocate(p);
  ashlar::detail::open_parcel<> open;
  ashlar::detail::mark_free(cell, 512);
  open.begin_carrier(cell, 512);
  owner.receive(open.close(), 512);
  EXPECT_TRUE(owner.has_arrivals());
  EXPECT_EQ(owner.take_free_span(100'000, 16), p);
  EXPECT_FALSE(owner.has_arrivals());
  EXPECT_EQ(owner.allocate(512), cell);
  owner.release();
}

}  // namespace
