// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of pools and heaps under a replay: sized and unsized frees, alignments, zeroed blocks, moved blocks, and blocks
// that other threads, ended ones included, free and move.
#include <ashlar/study/pooled_allocator.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tests/study/random_events.hpp"
#include "tests/study/replay_team.hpp"
#include "tests/support/build.hpp"
#include <ashlar/base/bits.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/heap/tiered_heap.hpp>
#include <ashlar/study/replay.hpp>
#include <ashlar/study/replay_op.hpp>

namespace {

using ashlar::local_heap;
using ashlar::detail::replay_request;
using heap_allocator = ashlar::detail::heap_allocator<local_heap<>>;
using ashlar::detail::pooled_allocator;

struct plan_of_one {
  std::array<std::uint64_t, 1> offsets, sizes;
  std::uint64_t height, alignment;
};
constexpr plan_of_one planned{{0}, {64}, 64, 64};
using tiered = ashlar::tiered_heap<ashlar::static_plan<planned>>;

static_assert(ashlar::detail::sized_replay_allocator<heap_allocator>);
static_assert(ashlar::detail::sized_replay_allocator<ashlar::detail::heap_allocator<ashlar::heap<>>>);
static_assert(ashlar::detail::sized_replay_allocator<ashlar::detail::heap_allocator<tiered>>);

/// A lane's handle of an allocator, which expects each block to be aligned, and frees by either call in turn.
template <class Allocator>
class watched {
public:
  static constexpr bool touches = true;

  explicit watched(Allocator& allocator) : allocator_(&allocator) {}

  [[nodiscard]] void* allocate(replay_request r) {
    void* const block = allocator_->allocate(r);
    EXPECT_TRUE(ashlar::is_aligned(block, static_cast<std::size_t>(r.alignment())));
    return block;
  }
  [[nodiscard]] void* reallocate(void* block, replay_request was, replay_request r) {
    return allocator_->reallocate(block, was, r);
  }
  void deallocate(void* block, replay_request r) {
    if constexpr (ashlar::detail::sized_replay_allocator<Allocator>)
      if (++frees_ % 2 == 0) return allocator_->deallocate_sized(block, r);
    allocator_->deallocate(block, r);
  }

private:
  Allocator* allocator_;
  unsigned frees_ = 0;
};

template <class Allocator>
void expect_blocks_apart(Allocator& allocator, std::uint32_t threads) {
  ashlar_test::replay_team<watched<Allocator>> team(watched<Allocator>(allocator), threads == 1 ? 1 : threads + 1);
  const auto counts = team.run(ashlar_test::random_events(1, 20'000, threads));
  EXPECT_EQ(counts.lanes > 1, threads > 1);
  EXPECT_EQ(team.tally().damaged, 0U);
  EXPECT_EQ(team.tally().failed, 0U);
  team.free_left();
  watched<Allocator> handle(allocator);
  for (std::uint64_t alignment = 1; alignment <= 8192; alignment *= 2)
    for (const std::uint64_t bytes : {1u, 24u, 100u, 5000u, 9000u}) {
      const replay_request r(ashlar::detail::replay_kind::allocate, bytes, alignment);
      handle.deallocate(handle.allocate(r), r);
    }
}

TEST(heap_allocator, blocks_keep_to_themselves_however_they_are_freed) {
  local_heap<> heap;
  heap_allocator allocator(heap);
  expect_blocks_apart(allocator, 1);
  EXPECT_TRUE(heap.invariant());
  std::size_t live = 0;
  heap.for_each_live([&](const void*, std::size_t) { ++live; });
  EXPECT_EQ(live, 0U);
}

TEST(pooled_allocator, blocks_of_all_sizes_keep_to_themselves) {
  pooled_allocator<ashlar::null_lock> allocator;
  expect_blocks_apart(allocator, 1);
}

TEST(pooled_allocator, threads_share_it) {
  pooled_allocator<ashlar::spin_lock> allocator;
  expect_blocks_apart(allocator, 4);
}

template <class Heap>
void expect_that_threads_share() {
  using allocator = ashlar::detail::heap_allocator<Heap>;
  for (unsigned seed = 0; seed < (ashlar_test::is_slow ? 1 : 3); ++seed) {
    Heap heap;
    ashlar_test::replay_team<allocator> team(allocator(heap), 5);
    const auto counts = team.run(ashlar_test::random_events(seed, 6000));
    EXPECT_GT(counts.crossing, 500U);
    EXPECT_GT(counts.ended, 10U);
    EXPECT_EQ(team.tally().damaged, 0U);
    EXPECT_EQ(team.tally().failed, 0U);
    EXPECT_TRUE(heap.invariant());
    const std::vector<void*> left = team.left();
    EXPECT_EQ(left.size(), counts.never_freed);
    for (void* block : left) heap.deallocate(block);
    EXPECT_TRUE(heap.invariant());
  }
}

TEST(heap_allocator, threads_that_come_and_go_free_and_move_each_others_blocks) {
  expect_that_threads_share<ashlar::heap<>>();
  expect_that_threads_share<tiered>();
}

}  // namespace
