// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the regions of a heap adjoin each other, are complete, and give the live blocks of each.
#include <cstddef>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/heap_region.hpp>
#include <ashlar/heap/local_heap.hpp>

#include "tests/support/used_heap.hpp"

namespace {

using ashlar::detail::heap_region;
using ashlar::detail::region_kind;

template <class Heap>
std::vector<heap_region> pieces_of(const Heap& heap) {
  std::vector<heap_region> all;
  heap.inspect([&](const heap_region& each) { all.push_back(each); });
  return all;
}

// Returns: the live blocks in a region.
template <class Used>
std::size_t blocks_in(const Used& used, const heap_region& piece) {
  auto* const start = const_cast<std::byte*>(piece.start);
  return static_cast<std::size_t>(
      std::distance(used.live.lower_bound(start), used.live.lower_bound(start + piece.bytes)));
}

TEST(heap_region, gives_the_live_bytes_of_each_piece) {
  ashlar_test::used_heap<> used;
  used.use();
  std::size_t live = 0, bytes = 0, kinds = 0;
  const std::byte* end = nullptr;
  for (const heap_region& each : pieces_of(used.heap)) {
    const bool is_first = each.kind == region_kind::head || each.kind == region_kind::huge;
    EXPECT_TRUE(is_first ? ashlar::detail::is_aligned(each.start, ashlar::detail::segment_bytes) : each.start == end);
    EXPECT_EQ(each.live, blocks_in(used, each)) << "kind " << static_cast<int>(each.kind) << " of " << each.cell_bytes;
    EXPECT_EQ(each.kind == region_kind::slab, each.size_class != ashlar::detail::size_classes::none);
    EXPECT_TRUE(each.size_class == 0 || each.cell_bytes == ashlar::detail::size_classes::bytes_of(each.size_class));
    EXPECT_LE(each.live_bytes() + each.spare_bytes() + each.waste_bytes(), each.bytes);
    live += each.live;
    bytes += each.bytes;
    kinds |= std::size_t{1} << static_cast<unsigned>(each.kind);
    end = each.start + each.bytes;
  }
  EXPECT_EQ(live, used.live.size());
  EXPECT_EQ(bytes, used.heap.held_bytes());
  for (const region_kind any : {region_kind::free, region_kind::fresh})
    kinds |= std::size_t{1} << static_cast<int>(any);
  EXPECT_EQ(kinds, 127u) << "not every kind was there";
  EXPECT_TRUE(used.heap.invariant());
}

TEST(heap_region, looking_changes_nothing) {
  ashlar_test::used_heap<> used;
  used.use();
  const std::vector<heap_region> before = pieces_of(used.heap);
  void* const p = used.heap.allocate(48);
  used.heap.deallocate(p);
  const std::vector<heap_region> after = pieces_of(used.heap);
  if (ashlar::checking_level < ashlar::checking::hardened) {  // at level hardened freed cells wait before their reuse
    EXPECT_EQ(used.heap.allocate(48), p) << "a cached cell stays cached";
  }
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].start, after[i].start);
    EXPECT_EQ(before[i].live, after[i].live);
  }
}

TEST(heap_region, follows_a_run_from_fresh_to_free) {
  ashlar::local_heap<> heap;
  EXPECT_TRUE(pieces_of(heap).empty());
  const auto kind_at = [&](const void* p) {
    for (const heap_region& each : pieces_of(heap))
      if (p >= each.start && p < each.start + each.bytes) return each.kind;
    return region_kind::head;
  };
  void* const p = heap.allocate(2'200'000);  // more than half of a segment, which is whole then
  auto* const behind = static_cast<std::byte*>(p) + 2'300'000;
  EXPECT_EQ(kind_at(p), region_kind::run);
  EXPECT_EQ(kind_at(behind), region_kind::fresh);
  heap.deallocate(p);
  EXPECT_EQ(kind_at(p), region_kind::spare);
  heap.for_each_live([](void*, std::size_t) {});
  EXPECT_EQ(kind_at(p), region_kind::free) << "joined with what is around it";
  static_cast<void>(heap.allocate(1));
  static_cast<void>(heap.trim());
  EXPECT_EQ(kind_at(behind), region_kind::fresh);
}

}  // namespace
