// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of huge blocks: spare ones, growth in place, and a model with failing system calls.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/heap/huge_store.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/faulty_calls.hpp"

namespace {

using ashlar::detail::fresh_block;
using ashlar::detail::window_bytes;
using ashlar_test::counting_resource;

constexpr std::size_t page = 4096;
constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t keep = 16 * mib;
constexpr std::uint32_t an_hour = 3'600'000;

/// A store with its extent map.
template <class Upstream>
struct made {
  ashlar::detail::extent_map<Upstream> space;
  ashlar::detail::huge_store<Upstream> store;

  explicit made(Upstream upstream = {}, std::size_t most = ashlar::detail::max_size, std::size_t retain_bytes = keep,
                std::uint32_t decay_ms = an_hour)
      : space(most, upstream), store(space, retain_bytes, decay_ms) {}

  [[nodiscard]] std::byte* take(std::size_t bytes, std::size_t alignment = 16) {
    return store.take(bytes, alignment).data;
  }
  [[nodiscard]] bool invariant() const { return space.invariant() && store.invariant(); }
};

using counted = made<ashlar::resource_ref<counting_resource<>>>;
using on_pages = made<ashlar::page_resource>;

TEST(huge_store, a_freed_block_is_the_next_of_about_its_size) {
  counting_resource<> upstream;
  counted huge(upstream);
  std::byte* const p = huge.take(9 * mib);
  huge.store.give(p);
  EXPECT_TRUE(huge.space.is_spare(p) && huge.store.count() == 0 && huge.store.bytes() == 0);
  EXPECT_EQ(huge.take(8 * mib), p) << "all of which may be used";
  EXPECT_EQ(huge.store.bytes(), 9 * mib);
  EXPECT_EQ(huge.store.reused_bytes(), 9 * mib);
  huge.store.give(p);
  for (int i = 0; i < 100; ++i) huge.store.give(huge.take(9 * mib));
  EXPECT_EQ(upstream.allocations(), 1u);
  std::byte* const other = huge.take(4 * mib);
  EXPECT_NE(other, p) << "too much would be wasted";
  EXPECT_EQ(huge.store.trim(9 * mib), 0u);
  EXPECT_EQ(huge.store.trim(9 * mib - 1), 9 * mib);
  EXPECT_TRUE(huge.space.held_bytes() == 4 * mib && huge.invariant());
}

TEST(huge_store, what_was_spare_for_an_epoch_goes_back) {
  counting_resource<> upstream;
  counted huge(upstream, ashlar::detail::max_size, keep, 0);
  std::byte* const rare = huge.take(11 * mib);
  std::byte* const often = huge.take(5 * mib);
  huge.store.give(rare);
  for (int i = 0; i < 3; ++i) {
    huge.store.give(i == 0 ? often : huge.take(5 * mib));
    EXPECT_EQ(huge.space.spare_bytes(), 5 * mib) << "each free ends an epoch";
  }
  huge.store.age();
  huge.store.age();
  EXPECT_TRUE(huge.space.spare_bytes() == 0 && huge.space.held_bytes() == 0 && huge.invariant());
}

TEST(huge_store, spare_blocks_go_back_before_one_is_refused) {
  counting_resource<> upstream;
  counted huge(upstream, 24 * mib + 4096);  // and the table of six windows
  huge.store.give(huge.take(16 * mib));
  EXPECT_NE(huge.take(24 * mib), nullptr);
  EXPECT_EQ(huge.take(1), nullptr);
  EXPECT_TRUE(huge.invariant() && upstream.peak().bytes <= 24 * mib + 4096);
}

#if defined(__linux__)
// Within a limit that the sum of the block and a copy would exceed.
TEST(huge_store, a_heap_grows_a_block_without_copying_it) {
  ashlar::local_heap<> heap({.max_bytes = 48 * mib});
  auto* const p = static_cast<std::byte*>(heap.allocate(24 * mib));
  p[0] = p[24 * mib - 1] = std::byte{1};
  auto* const q = static_cast<std::byte*>(heap.try_reallocate(p, 40 * mib));
  ASSERT_NE(q, nullptr);
  EXPECT_TRUE(q[0] == std::byte{1} && q[24 * mib - 1] == std::byte{1} && q[40 * mib - 1] == std::byte{0});
  constexpr std::size_t watched = ashlar::detail::keeps_canaries ? page : 0;  // a page for the canary behind the block
  EXPECT_EQ(heap.held_bytes(), 40 * mib + watched);
  EXPECT_TRUE(heap.try_expand(q, 40 * mib, 5 * mib, 16) && heap.usable_size(q) == 5 * mib);
  EXPECT_TRUE(heap.try_shrink(q, 5 * mib, 5 * mib, 16));
  EXPECT_FALSE(heap.try_shrink(q, 5 * mib, 6 * mib, 16));
  heap.deallocate(q, 5 * mib);
  EXPECT_TRUE(heap.owns(q) && heap.invariant());
  EXPECT_EQ(heap.trim(), 5 * mib + watched);
  EXPECT_EQ(heap.held_bytes(), 0u);
}
#endif

struct model_tag;
using calls = ashlar_test::faulty_calls<model_tag>;

/// The expected contents of one block: the first word of every 64 KiB and the last word depend on block and offset.
struct shadow {
  std::byte* p;
  std::size_t bytes;
  std::uint64_t seed;

  static constexpr std::size_t stride = 65536;

  template <class F>
  void for_each_word(std::size_t limit, F f) const {
    for (std::size_t at = 0; at < std::min(bytes, limit); at += stride) f(at);
    if (bytes <= limit) f(bytes - sizeof(std::uint64_t));
  }
  void fill() const {
    for_each_word(bytes, [&](std::size_t at) {
      const std::uint64_t word = seed ^ at;
      std::memcpy(p + at, &word, sizeof word);
    });
  }
  [[nodiscard]] bool is_intact_at(const std::byte* where, std::size_t limit) const {
    bool right = true;
    for_each_word(limit, [&](std::size_t at) {
      std::uint64_t word = 0;
      std::memcpy(&word, where + at, sizeof word);
      right = right && word == (seed ^ at);
    });
    return right;
  }
};

class huge_model {
public:
  huge_model() : huge_({}, 200 * mib, 16 * mib, 1) {}

  void step(std::mt19937& random) {
    const std::size_t what = random() % 16, bytes = (random() % 200 + 1) * (random() % 8 == 0 ? 100'000 : 160'000);
    if (what < 6 && blocks_.size() < 12) return take(bytes, std::size_t{1} << random() % 24);
    if (what == 15) return random() % 8 == 0 ? static_cast<void>(huge_.store.trim(0)) : huge_.store.age();
    if (blocks_.empty()) return;
    const std::size_t i = random() % blocks_.size();
    ASSERT_TRUE(blocks_[i].is_intact_at(blocks_[i].p, blocks_[i].bytes));
    if (what < 10) give(i);
    else if (what < 13) resize(blocks_[i], bytes);
    else move(blocks_[i], bytes);
  }

  [[nodiscard]] bool is_right() const {
    std::size_t held = 0;
    for (const shadow& each : blocks_) held += huge_.space.find(each.p)->bytes();
    return huge_.store.count() == blocks_.size() && huge_.store.bytes() == held &&
           huge_.space.held_bytes() == held + huge_.space.spare_bytes() && huge_.space.held_bytes() <= 200 * mib &&
           huge_.invariant();
  }

  [[nodiscard]] std::size_t moves() const { return moves_; }
  [[nodiscard]] std::uint64_t reused() const { return huge_.store.reused_bytes(); }

private:
  void take(std::size_t bytes, std::size_t alignment) {
    const fresh_block got = huge_.store.take(bytes, alignment);
    if (got.data == nullptr) return;
    ASSERT_TRUE(ashlar::detail::is_aligned(got.data, alignment) && huge_.space.find(got.data)->bytes() >= bytes);
    for (std::size_t at = 0; got.is_zero && at < bytes; at += shadow::stride) ASSERT_EQ(got.data[at], std::byte{0});
    blocks_.push_back({got.data, bytes, ++seed_ << 32});
    blocks_.back().fill();
  }

  void give(std::size_t i) {
    huge_.store.give(blocks_[i].p);
    blocks_[i] = blocks_.back();
    blocks_.pop_back();
  }

  void resize(shadow& block, std::size_t bytes) {
    const bool done = huge_.store.resize(block.p, bytes);
    ASSERT_TRUE(block.is_intact_at(block.p, done ? std::min(block.bytes, bytes) : block.bytes));
    if (done) refill(block, bytes);
  }

  void move(shadow& block, std::size_t bytes) {
    auto* const moved = static_cast<std::byte*>(huge_.store.reallocate(block.p, bytes, 16));
    ASSERT_TRUE(block.is_intact_at(moved != nullptr ? moved : block.p, block.bytes));
    if (moved == nullptr) return;
    ++moves_;
    block.p = moved;
    refill(block, bytes);
  }

  static void refill(shadow& block, std::size_t bytes) {
    block.bytes = bytes;
    block.fill();
  }

  made<ashlar_test::faulty_pages<model_tag>> huge_;
  std::vector<shadow> blocks_;
  std::uint64_t seed_ = 0;
  std::size_t moves_ = 0;
};

TEST(huge_store, keeps_every_byte_after_any_refusal_of_the_system) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    {
      std::mt19937 random(seed);
      huge_model model;
      for (int step = 0; step < (ashlar_test::is_slow ? 400 : 1500); ++step) {
        for (auto* const plan :
             {&calls::faults.maps, &calls::faults.unmaps, &calls::faults.grows, &calls::faults.moves})
          if (seed != 1 && random() % 16 == 0) plan->fail_at(random() % 3);
        model.step(random);
        ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed << " step " << step;
        ASSERT_TRUE(model.is_right()) << "seed " << seed << " step " << step;
      }
      calls::faults.fail_never();
      EXPECT_GT(model.reused(), 0u);
#if defined(__linux__)
      EXPECT_GT(model.moves(), 5u);
#endif
    }
    calls::faults.give_back_lost();
    EXPECT_EQ(calls::faults.mapped_bytes, 0u);
  }
}

}  // namespace
