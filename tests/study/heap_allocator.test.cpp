// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests a heap as a replay drives it: sized and unsized frees, alignments, zeroed blocks, blocks that move.
#include <ashlar/study/heap_allocator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/study/replay.hpp>
#include <ashlar/study/replay_op.hpp>
#include <ashlar/study/touch.hpp>

namespace {

using ashlar::local_heap;
using ashlar::study::replay_kind;
using ashlar::study::replay_request;
using ashlar::study::touch;
using heap_allocator = ashlar::study::heap_allocator<local_heap<>>;

static_assert(ashlar::study::sized_replay_allocator<heap_allocator>);

struct held {
  void* block;
  replay_request request;
  std::uint64_t stamp;

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(request.size()); }
};

/// Does to a heap what a replay does, and keeps what it got.
class churn {
public:
  void step(unsigned i) {
    if (blocks_.size() > 200 || (!blocks_.empty() && random_() % 3 == 0)) return release();
    if (!blocks_.empty() && random_() % 8 == 0) return move(i);
    const std::uint64_t alignment = random_() % 4 == 0 ? std::uint64_t{1} << (random_() % 14) : 0;
    const bool zeroed = random_() % 4 == 0;
    const replay_request r(zeroed ? replay_kind::allocate_zeroed : replay_kind::allocate, any_size(), alignment);
    const held h{allocator_.allocate(r), r, i};
    ASSERT_NE(h.block, nullptr);
    EXPECT_TRUE(ashlar::is_aligned(h.block, static_cast<std::size_t>(r.alignment())));
    if (zeroed) EXPECT_TRUE(touch::read_zeroed(h.block, h.size(), i));
    else touch::write(h.block, h.size(), 0, i);
    blocks_.push_back(h);
  }

  void release() {
    const held h = take();
    if (random_() % 2 == 0) allocator_.deallocate(h.block, h.request);
    else allocator_.deallocate_sized(h.block, h.request);
  }

  void move(unsigned i) {
    const held h = take();
    const replay_request r(replay_kind::reallocate, any_size(), 0);
    const held moved{allocator_.reallocate(h.block, h.request, r), r, i};
    ASSERT_NE(moved.block, nullptr);
    EXPECT_TRUE(touch::read_first(moved.block, std::min(h.size(), moved.size()), h.stamp));
    touch::write(moved.block, moved.size(), std::min(h.size(), moved.size()), i);
    blocks_.push_back(moved);
  }

  [[nodiscard]] bool is_empty() const { return blocks_.empty(); }
  [[nodiscard]] bool invariant() const { return heap_.invariant(); }
  [[nodiscard]] std::size_t live() {
    std::size_t blocks = 0;
    heap_.visit([&](const void*, std::size_t) { ++blocks; });
    return blocks;
  }

private:
  [[nodiscard]] std::uint64_t any_size() { return random_() % (std::uint64_t{1} << (random_() % 19)); }

  held take() {
    std::swap(blocks_[random_() % blocks_.size()], blocks_.back());
    const held h = blocks_.back();
    blocks_.pop_back();
    EXPECT_TRUE(touch::read_first(h.block, h.size(), h.stamp));
    return h;
  }

  std::mt19937 random_{1};
  local_heap<> heap_;
  heap_allocator allocator_{heap_};
  std::vector<held> blocks_;
};

TEST(heap_allocator, says_null_to_what_it_cannot_serve) {
  local_heap<> heap({.max_bytes = std::size_t{4} << 20});
  heap_allocator allocator(heap);
  for (const auto kind : {replay_kind::allocate, replay_kind::allocate_zeroed}) {
    EXPECT_EQ(allocator.allocate(replay_request(kind, std::uint64_t{5} << 20, 0)), nullptr);
    EXPECT_EQ(allocator.allocate(replay_request(kind, replay_request::size_limit / 2 + 1, 0)), nullptr);
  }
}

TEST(heap_allocator, blocks_keep_to_themselves_however_they_are_freed) {
  churn program;
  for (unsigned i = 0; i < 10000; ++i) program.step(i);
  EXPECT_TRUE(program.invariant());
  while (!program.is_empty()) program.release();
  EXPECT_EQ(program.live(), 0U);
}

}  // namespace
