// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of pools and heaps under a replay: sized and unsized frees, alignments, zeroed blocks, moved blocks, and blocks
// that other threads, ended ones included, free and move.
#include <ashlar/study/pooled_allocator.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>
#include <utility>
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
using ashlar::detail::replay_kind;
using ashlar::detail::replay_request;
using ashlar::detail::touch;
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

struct held {
  void* block;
  replay_request request;
  std::uint64_t stamp;

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(request.size()); }
};

/// Uses an allocator as a replay does, and keeps its blocks: every block keeps its contents, at an address with its
/// alignment.
template <class Allocator>
class churn {
public:
  explicit churn(Allocator& allocator, unsigned seed = 1) : random_(seed), allocator_(&allocator) {}
  ~churn() {
    while (!blocks_.empty()) release();
  }
  churn(const churn&) = delete;
  churn& operator=(const churn&) = delete;

  void run(unsigned steps) {
    for (unsigned i = 0; i < steps; ++i) step(i);
  }

private:
  void step(unsigned i) {
    if (blocks_.size() > 200 || (!blocks_.empty() && random_() % 3 == 0)) return release();
    if (!blocks_.empty() && random_() % 8 == 0) return move(i);
    const bool zeroed = random_() % 4 == 0;
    const std::uint64_t alignment = !zeroed && random_() % 4 == 0 ? std::uint64_t{1} << (random_() % 14) : 0;
    const replay_request r(zeroed ? replay_kind::allocate_zeroed : replay_kind::allocate, any_size(), alignment);
    const held h{allocator_->allocate(r), r, i};
    ASSERT_NE(h.block, nullptr);
    EXPECT_TRUE(ashlar::is_aligned(h.block, static_cast<std::size_t>(r.alignment())));
    if (zeroed) EXPECT_TRUE(touch::read_zeroed(h.block, h.size(), i));
    else touch::write(h.block, h.size(), 0, i);
    blocks_.push_back(h);
  }

  void release() {
    const held h = take();
    if constexpr (ashlar::detail::sized_replay_allocator<Allocator>)
      if (random_() % 2 == 0) return allocator_->deallocate_sized(h.block, h.request);
    allocator_->deallocate(h.block, h.request);
  }

  void move(unsigned i) {
    const held h = take();
    const replay_request r(replay_kind::reallocate, 1 + any_size(), 0);
    const held moved{allocator_->reallocate(h.block, h.request, r), r, i};
    ASSERT_NE(moved.block, nullptr);
    EXPECT_TRUE(touch::read_first(moved.block, std::min(h.size(), moved.size()), h.stamp));
    touch::write(moved.block, moved.size(), std::min(h.size(), moved.size()), i);
    blocks_.push_back(moved);
  }

  [[nodiscard]] std::uint64_t any_size() { return random_() % (std::uint64_t{1} << (random_() % 19)); }

  held take() {
    std::swap(blocks_[random_() % blocks_.size()], blocks_.back());
    const held h = blocks_.back();
    blocks_.pop_back();
    EXPECT_TRUE(touch::read_first(h.block, h.size(), h.stamp));
    return h;
  }

  std::mt19937 random_;
  Allocator* allocator_;
  std::vector<held> blocks_;
};

TEST(heap_allocator, blocks_keep_to_themselves_however_they_are_freed) {
  local_heap<> heap;
  heap_allocator allocator(heap);
  churn(allocator).run(10000);
  EXPECT_TRUE(heap.invariant());
  std::size_t live = 0;
  heap.for_each_live([&](const void*, std::size_t) { ++live; });
  EXPECT_EQ(live, 0U);
}

TEST(pooled_allocator, blocks_of_all_sizes_keep_to_themselves) {
  pooled_allocator<ashlar::null_lock> allocator;
  churn(allocator).run(20000);
}

TEST(pooled_allocator, threads_share_it) {
  pooled_allocator<ashlar::spin_lock> allocator;
  std::thread other([&] { churn(allocator, 2).run(10000); });
  churn(allocator, 3).run(10000);
  other.join();
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
