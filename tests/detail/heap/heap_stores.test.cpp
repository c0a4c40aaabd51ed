// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of what is behind a thread cache: each kind of block, and memory that changes its kind.
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/heap_region.hpp>
#include <ashlar/detail/heap/heap_stores.hpp>
#include <ashlar/detail/heap/sharing.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::detail::cached;
using ashlar::detail::size_classes;
using ashlar::detail::slice_bytes;
using ashlar_test::counting_resource;
using stores_type = ashlar::detail::heap_stores<ashlar::resource_ref<counting_resource<>>>;

struct heap_stores_test : ::testing::Test {
  std::byte* large(std::size_t bytes, std::size_t alignment = 16) {
    std::byte* p = stores.take_large(bytes, alignment).data;
    if (p == nullptr) p = stores.take_large_retry(bytes, alignment).data;
    if constexpr (ashlar::checking_level >= ashlar::checking::hardened)
      if (p != nullptr) stores.sizes().hand_out_large(p, bytes);
    return p;
  }

  // Returns: the live blocks of all regions, as the owner of the cache sees them, or another thread.
  std::size_t live(bool by_owner) {
    std::size_t sum = 0;
    const auto add = [&](const ashlar::detail::heap_region& piece) { sum += piece.live; };
    stores.inspect(add, by_owner ? cached::included : cached::excluded);
    return sum;
  }

  counting_resource<> upstream;
  stores_type stores{{}, upstream, nullptr};
};

TEST_F(heap_stores_test, tells_kinds_of_blocks_by_their_address) {
  std::byte* const run = large(100'000);
  std::byte* const huge = large(std::size_t{5} << 20);
  void* const cell = stores.take_cell(size_classes::of(100));
  EXPECT_TRUE(ashlar::detail::is_aligned(run, slice_bytes) && ashlar::detail::is_sampled(run));
  EXPECT_TRUE(ashlar::detail::is_aligned(huge, ashlar::detail::window_bytes));
  EXPECT_EQ(ashlar::detail::segment::size_class_of(cell), size_classes::of(100));
  EXPECT_EQ(ashlar::detail::segment::size_class_of(run), size_classes::none);
  EXPECT_TRUE(stores.owns(run) && stores.owns(huge) && stores.owns(cell));
  EXPECT_FALSE(stores.owns(this));
  EXPECT_TRUE(stores.invariant());
  stores.give_run(run);
  stores.give_huge(huge);
  stores.release();
  EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
}

TEST_F(heap_stores_test, cached_cells_make_room_for_a_run) {
  upstream.limit_bytes(ashlar::detail::segment_bytes);
  const std::size_t number = size_classes::of(32 * 1024);
  std::size_t cells = 0;
  while (void* const cell = stores.take_cell(number)) {
    stores.cache().push(0, cell);  // the free list of no class
    ++cells;
  }
  EXPECT_GT(cells, 100u);
  EXPECT_EQ(large(2 * slice_bytes), nullptr);
  while (void* const cell = stores.cache().pop(0)) {
    ashlar::detail::mark_live(cell, 32 * 1024);
    if constexpr (ashlar::detail::segment::live_cells::is_kept)
      if (ashlar::detail::segment::is_live(cell)) ashlar::detail::segment::flip_live(cell);
    stores.cache().push(number, cell);
  }
  EXPECT_NE(large(40 * slice_bytes), nullptr) << "swept, and their slabs joined";
  EXPECT_TRUE(stores.invariant());
}

TEST_F(heap_stores_test, a_cached_span_is_used_until_it_is_swept) {
  if constexpr (!ashlar::detail::frees_travel) GTEST_SKIP() << "spans are not cached at this level";
  std::byte *const run = large(5 * slice_bytes), *const kept = large(slice_bytes);
  EXPECT_EQ(stores.take_cached_run(5 * slice_bytes, 16), nullptr);
  EXPECT_TRUE(stores.cache_run(run));
  EXPECT_EQ(stores.cached_bytes(), 5 * slice_bytes);
  EXPECT_FALSE(stores.cache_run(run)) << "a double free is reported by the other way";
  EXPECT_EQ(live(true), 1u);
  EXPECT_EQ(live(false), 2u) << "the owner may be using its cache";
  std::size_t blocks = 0;
  stores.flush_caches(cached::excluded);
  stores.for_each_live([&](void*, std::size_t) { ++blocks; });
  EXPECT_EQ(blocks, 2u);
  EXPECT_EQ(stores.take_cached_run(4 * slice_bytes, 16), run) << "longer by up to a half";
  EXPECT_EQ(stores.usable_size(run), 5 * slice_bytes);
  EXPECT_EQ(stores.reused_bytes(), 0u) << "an upstream with memory that may have been used before";
  EXPECT_TRUE(stores.cache_run(run));
  stores.flush_caches();
  EXPECT_EQ(stores.cached_bytes(), 0u);
  EXPECT_EQ(live(false), 1u);
  stores.give_run(kept);
  EXPECT_TRUE(stores.invariant());
  EXPECT_NE(stores.trim(0), 0u);
  EXPECT_EQ(stores.held_bytes(), 0u);
}

TEST_F(heap_stores_test, a_full_cache_of_spans_is_emptied) {
  if constexpr (!ashlar::detail::frees_travel) GTEST_SKIP() << "spans are not cached at this level";
  std::vector<std::byte*> runs;
  for (int i = 0; i < 30; ++i) runs.push_back(large(10 * slice_bytes));
  std::size_t cached = 0;
  for (std::byte* const run : runs) stores.cache_run(run) ? static_cast<void>(++cached) : stores.give_run(run);
  EXPECT_GT(cached, 25u) << "one in thirteen goes behind the cache";
  EXPECT_LE(stores.cached_bytes(), std::size_t{8} << 20);
  EXPECT_TRUE(stores.invariant());
}

TEST_F(heap_stores_test, cached_spans_make_room_before_the_heap_grows) {
  if constexpr (!ashlar::detail::frees_travel) GTEST_SKIP() << "spans are not cached at this level";
  std::vector<std::byte*> runs;
  for (int i = 0; i < 6; ++i) runs.push_back(large(10 * slice_bytes));
  for (std::byte* const run : runs) EXPECT_TRUE(stores.cache_run(run));
  EXPECT_NE(large(50 * slice_bytes), nullptr);
  EXPECT_NE(stores.take_cell(size_classes::of(100)), nullptr);
  EXPECT_EQ(stores.segments(), 1u);
}

TEST_F(heap_stores_test, free_segments_make_room_for_a_huge_block) {
  std::byte* const run = large(30 * slice_bytes);
  ASSERT_NE(run, nullptr);
  upstream.limit_bytes(std::size_t{5} << 20);
  EXPECT_EQ(large(std::size_t{5} << 20), nullptr);
  stores.give_run(run);
  std::byte* const huge = large(std::size_t{5} << 20);
  EXPECT_NE(huge, nullptr);
  EXPECT_TRUE(stores.invariant());
}

}  // namespace
