// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the calls from a heap to its stores, and of their number.
#include <ashlar/detail/heap/engine.hpp>

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/heap_stores.hpp>
#include <ashlar/detail/heap/sharing.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/resident.hpp"

namespace {

struct counting_stores : ashlar::detail::heap_stores<ashlar::page_resource> {
  using base = ashlar::detail::heap_stores<ashlar::page_resource>;
  using base::base;

  [[nodiscard]] void* take_cell(std::size_t number) noexcept {
    ++taken;
    return base::take_cell(number);
  }
  void give_cell(void* cell) noexcept {
    ++given;
    base::give_cell(cell);
  }

  int taken = 0, given = 0;
};

using counting_engine = ashlar::detail::engine<counting_stores, ashlar::detail::single_owner>;

TEST(engine, asks_its_stores_only_for_cells_that_are_not_cached) {
  counting_engine heap({});
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(heap.allocate(64));
  const bool is_hardened = ashlar::checking_level >= ashlar::checking::hardened;
  const int asked = heap.locked()->taken;
  EXPECT_LE(asked, 1000 / 6) << asked << ": a batch's cells come eight at a time";
  for (void* const p : blocks) heap.deallocate(p);
  EXPECT_TRUE(is_hardened || heap.locked()->given == 0) << "they are cached";
  for (void*& p : blocks) p = heap.allocate(64);
  EXPECT_TRUE(is_hardened || heap.locked()->taken == asked) << "so nobody is asked";
  for (void* const p : blocks) heap.deallocate(p);
  EXPECT_TRUE(heap.invariant());
}

TEST(engine, serves_what_is_cached_or_something_else) {
  ashlar::detail::owner_engine<ashlar::page_resource> mine({});
  int asked = 0;
  const auto otherwise = [&]() -> void* { return ++asked, mine.allocate(64); };
  void* const first = mine.take_or(64, otherwise);
  void* const second = mine.allocate<64>();
  mine.deallocate(second);
  void* const again = mine.take_or(60, otherwise);
  if (ashlar::checking_level < ashlar::checking::hardened) EXPECT_EQ(again, second);  // else it is in its bitmap
  mine.deallocate<60>(again);
  void* const third = mine.take_known_or<64, 16>(otherwise);
  EXPECT_NE(third, nullptr);
  EXPECT_LE(asked, 3);  // sampled addresses are not cached
  mine.deallocate<64>(third), mine.deallocate<64, 16>(first);
  EXPECT_TRUE(mine.invariant());
  mine.trim();
  EXPECT_EQ(mine.held_bytes(), 0u);
}

// Pages of 4 KiB of the first segment after blocks of each size up to `most`.
std::size_t pages_after_blocks_of_up_to(std::size_t most) {
  ashlar::detail::local_engine<ashlar::page_resource> mine({});
  void* first = nullptr;
  for (std::size_t bytes = 16; bytes <= most; bytes += 16)
    if (void* const p = mine.allocate(bytes); first == nullptr) first = p;
  return ashlar_test::resident_pages_of(ashlar::detail::segment::of(first), ashlar::detail::segment_bytes);
}

TEST(engine, makes_few_pages_resident_for_its_first_blocks) {
  if (!ashlar_test::residency_means_something || ashlar::os::pages::page_bytes() != 4096) GTEST_SKIP();
  if (pages_after_blocks_of_up_to(16) >= 512) GTEST_SKIP() << "pages of the system are huge";
  constexpr auto level = static_cast<std::size_t>(ashlar::checking_level);
  constexpr std::size_t most_for_one[] = {4, 5, 7}, most_for_all[] = {44, 50, 90};
  EXPECT_LE(pages_after_blocks_of_up_to(16), most_for_one[level]) << "owners, records, bits, and the block";
  EXPECT_LE(pages_after_blocks_of_up_to(1024), most_for_all[level]) << "one a class, hardly more";
}

// Cells that a call takes past the fast path, which has not stopped at a sampled address, are not counted as samples:
// the list is swept as it grows.
TEST(engine, counts_the_cells_that_it_lists) {
  ashlar::detail::owner_engine<ashlar::page_resource> shared({});
  std::vector<void*> blocks(200'000);
  for (void*& each : blocks) each = shared.allocate(64);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    shared.deallocate(blocks[i]);
    if (i % 100 == 0) static_cast<void>(shared.take_excluding_list(64));
  }
  std::size_t listed = 0;
  shared.locked()->cache().for_each(ashlar::detail::size_classes::of(64), [&](void*) { listed += 64; });
  EXPECT_LE(listed, std::size_t{2} << 20) << "of 12 MiB";
  EXPECT_TRUE(shared.invariant());
}

TEST(engine, has_its_stores_under_its_lock) {
  ashlar::detail::owner_engine<ashlar::page_resource> shared({});
  void* const p = shared.allocate(100'000);
  {
    const auto in = shared.drained();
    EXPECT_TRUE(in->owns(p));
    EXPECT_FALSE(shared.try_give_segment()) << "another call is inside";
  }
  shared.deallocate(p);
  shared.flush_caches();
  EXPECT_TRUE(shared.try_give_segment());
}

}  // namespace
