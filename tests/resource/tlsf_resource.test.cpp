// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the resource for blocks of any size: in a buffer, on an upstream, and against an oracle.
#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/resource/walked_heap.hpp"
#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/live_blocks.hpp"

namespace {

using ashlar::null_resource;
using ashlar::tlsf_resource;
using ashlar::tlsf_resource_options;
using ashlar::detail::tlsf_block;
using ashlar_test::counting_resource;
using ashlar_test::live_blocks;

using counted = tlsf_resource<ashlar::resource_ref<counting_resource<>>>;
using in_buffer = tlsf_resource<null_resource, ashlar::tlsf_small>;

struct growing : ashlar_test::conformance_defaults {
  static constexpr std::size_t churn_steps = ashlar_test::is_slow ? 300 : 2000;
  counting_resource<> upstream;
  counted resource{tlsf_resource_options{}, upstream};
};

struct buffered : ashlar_test::conformance_defaults {
  static constexpr bool bounded = true;
  static constexpr std::size_t churn_steps = ashlar_test::is_slow ? 300 : 2000;
  std::vector<std::byte> memory = std::vector<std::byte>(512 * 1024);
  in_buffer resource{memory};
};

struct spilling : ashlar_test::conformance_defaults {
  static constexpr std::size_t churn_steps = ashlar_test::is_slow ? 300 : 1000;
  std::vector<std::byte> memory = std::vector<std::byte>(16 * 1024);
  counting_resource<> upstream;
  counted resource{memory, {.growth = {.smallest = 4096, .largest = 16384, .divisor = 8}}, upstream};
};

TEST(tlsf_resource, asks_for_nothing_before_the_first_block_and_grows_by_bounded_steps) {
  counting_resource<> upstream;
  constexpr tlsf_resource_options options = {.growth = {.smallest = 8192, .largest = 32768, .divisor = 2}};
  counted r(options, upstream);
  EXPECT_EQ(upstream.allocations(), 0u);
  live_blocks blocks(r);
  blocks.allocate(1, 1);
  EXPECT_EQ(upstream.balance().bytes, 8192u);
  while (r.capacity() < 400'000) blocks.allocate(1000, 8);
  EXPECT_LT(upstream.balance().bytes, 400'000u + 2 * 32768);
  EXPECT_LE(r.regions(), 20u);
  blocks.allocate(100'000, 8);  // larger than any growth step: a region of its own
  EXPECT_TRUE(r.invariant());
}

TEST(tlsf_resource, a_live_block_costs_its_header_and_rounding) {
  std::array<std::byte, 4096> memory;
  in_buffer r(memory);
  const std::size_t capacity = r.capacity();
  EXPECT_GE(capacity, 4096 - ashlar::detail::tlsf_region::overhead());
  void* const p = r.allocate(40, 1);
  EXPECT_LE(r.used(), 40 + tlsf_block::header_bytes + tlsf_block::granule);
  if (!ashlar_test::is_checked) EXPECT_EQ(tlsf_block::header_bytes, sizeof(void*));
  EXPECT_GE(r.usable_size(p), 40u);
  r.deallocate(p, 40, 1);
  EXPECT_EQ(r.used(), 0u);
  EXPECT_EQ(r.capacity(), capacity);
}

TEST(tlsf_resource, the_largest_free_block_is_sure_to_be_served) {
  std::array<std::byte, 8192> memory;
  in_buffer r(memory);
  std::mt19937 random(7);
  live_blocks blocks(r);
  for (int round = 0; round < 200; ++round) {
    if (random() % 3 != 0) static_cast<void>(blocks.try_allocate(random() % 300, 1));
    else if (blocks.size() != 0) blocks.free(random() % blocks.size());
    const std::size_t most = r.largest_free();
    if (most == 0) continue;
    void* const p = r.try_allocate(most, 1);
    ASSERT_NE(p, nullptr) << most;
    EXPECT_EQ(r.try_allocate(most + most / 16 + 2 * tlsf_block::granule, 1), nullptr);
    r.deallocate(p, most, 1);
  }
}

TEST(tlsf_resource, the_largest_free_block_is_no_larger_than_any_block_may_be) {
  std::vector<std::byte> memory(std::size_t{2} << 20);
  in_buffer r(memory);
  EXPECT_EQ(r.largest_free(), in_buffer::most_bytes);
  r.deallocate(r.allocate(r.largest_free(), 1));
}

TEST(tlsf_resource, expands_into_a_free_neighbour_and_shrinks_in_place) {
  std::array<std::byte, 4096> memory;
  in_buffer r(memory);
  auto* const p = static_cast<unsigned char*>(r.allocate(100, 1));
  void* const wall = r.allocate(100, 1);
  ashlar_test::write_pattern(p, 100, 3);
  EXPECT_FALSE(r.try_expand(p, 100, 400, 1));
  EXPECT_TRUE(r.try_expand(p, 100, 30, 1));
  EXPECT_TRUE(r.try_expand(p, 30, 100, 1));  // the bytes given up are still free
  r.deallocate(wall, 100, 1);
  const std::size_t rest = r.largest_free();
  EXPECT_TRUE(r.try_expand(p, 100, rest, 1));
  EXPECT_TRUE(ashlar_test::has_pattern(p, 30, 3));
  ashlar_test::write_pattern(p, rest, 4);
  EXPECT_TRUE(r.try_expand(p, rest, 0, 1));
  EXPECT_TRUE(r.invariant());
  EXPECT_FALSE(r.try_expand(p, 0, ashlar::max_size, 1));
  EXPECT_FALSE(r.try_expand(p, 0, in_buffer::most_bytes + 1, 1));
  r.deallocate(p, 0, 1);
  EXPECT_EQ(r.used(), 0u);
}

TEST(tlsf_resource, any_alignment_wastes_no_memory_for_good) {
  counting_resource<> upstream;
  counted r(tlsf_resource_options{}, upstream);
  for (std::size_t alignment = 1; alignment <= (std::size_t{1} << 20); alignment *= 2) {
    void* const p = r.allocate(10, alignment);
    void* const q = r.allocate(1000, alignment);
    EXPECT_TRUE(ashlar::is_aligned(p, alignment) && ashlar::is_aligned(q, alignment));
    EXPECT_LT(r.used(), 10 + 1000 + 6 * tlsf_block::least);  // skipped bytes are free
    r.deallocate(p, 10, alignment);
    r.deallocate(q, 1000, alignment);
    EXPECT_TRUE(r.invariant());
  }
  EXPECT_EQ(r.try_allocate(1, std::size_t{1} << (sizeof(std::size_t) * 8 - 1)), nullptr);
}

TEST(tlsf_resource, a_buffer_comes_first_and_then_the_upstream) {
  std::array<std::byte, 4096> memory;
  counting_resource<> upstream;
  counted r(memory, {.retain_regions = ashlar::release_now}, upstream);
  live_blocks blocks(r);
  blocks.allocate(2000, 1);
  EXPECT_EQ(upstream.allocations(), 0u);
  blocks.allocate(4000, 1);
  EXPECT_EQ(r.regions(), 1u);
  blocks.free(1);
  EXPECT_EQ(r.regions(), 0u);
  blocks.free_all();
  EXPECT_TRUE(r.invariant());
  r.release();
  EXPECT_GT(r.largest_free(), 3000u);
}

TEST(tlsf_resource, a_buffer_too_small_or_badly_aligned_is_no_harm) {
  alignas(16) std::array<std::byte, 600> memory;
  for (std::size_t size = 0; size <= 560; ++size) {
    in_buffer r(std::span<std::byte>(memory).subspan(size % 17, size));
    EXPECT_TRUE(r.invariant());
    void* const p = r.try_allocate(1, 1);
    EXPECT_EQ(p != nullptr, r.capacity() != 0);
    if (p != nullptr) r.deallocate(p);
  }
  in_buffer nothing{std::span<std::byte>()};
  EXPECT_EQ(nothing.try_allocate(0, 1), nullptr);
}

TEST(tlsf_resource, keeps_empty_regions_by_policy) {
  const auto regions_after = [](ashlar::retain_policy policy) {
    counting_resource<> upstream;
    counted r({.growth = {.smallest = 4096, .largest = 4096, .divisor = 8}, .retain_regions = policy}, upstream);
    {
      live_blocks blocks(r);
      for (int i = 0; i < 6; ++i) blocks.allocate(3000, 1);
      EXPECT_EQ(r.regions(), 6u);
    }
    EXPECT_TRUE(r.invariant());
    const std::size_t kept = r.regions();
    EXPECT_EQ(r.trim(), kept * 4096);
    EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
    return kept;
  };
  EXPECT_EQ(regions_after(ashlar::release_now), 0u);
  EXPECT_EQ(regions_after(2), 2u);
  EXPECT_EQ(regions_after(ashlar::never_release), 6u);
}

TEST(tlsf_resource, reserves_ahead_so_that_the_upstream_is_not_asked) {
  counting_resource<> upstream;
  counted r(tlsf_resource_options{}, upstream);
  r.reserve(300'000);
  const std::size_t asked = upstream.allocations();
  r.deallocate(r.allocate(300'000, 1), 300'000, 1);
  r.reserve(300'000);
  EXPECT_EQ(upstream.allocations(), asked);
}

TEST(tlsf_resource, an_upstream_that_refuses_a_step_is_asked_for_what_is_needed) {
  counting_resource<> upstream;
  counted r(tlsf_resource_options{}, upstream);
  upstream.limit_bytes(20'000);
  void* const p = r.try_allocate(10'000, 1);
  ASSERT_NE(p, nullptr);
  EXPECT_LE(upstream.balance().bytes, 20'000u);
  EXPECT_EQ(r.try_allocate(10'000, 1), nullptr);
  r.deallocate(p, 10'000, 1);
}

// The bytes of the live blocks with their headers are those in use.
void check(ashlar_test::walked_heap<counted>& blocks, const counted& r) {
  std::size_t bytes = 0;
  blocks.look_around([&](const auto& f) {
    r.for_each_block([&](const ashlar::block& each, bool is_free) {
      if (is_free) return;
      f(each.data, each.size);
      bytes += each.size + tlsf_block::header_bytes;
    });
  });
  EXPECT_EQ(bytes, r.used());
}

void walk_at_random(unsigned seed, std::size_t most_live, int steps) {
  counting_resource<> upstream;
  counted r({.growth = {.smallest = 4096, .largest = 65536, .divisor = 2}, .retain_regions = seed % 3}, upstream);
  ashlar_test::walked_heap<counted> blocks(r, seed);
  const auto size = [&] { return blocks.below(std::size_t{1} << blocks.below(13)); };
  for (int step = 0; step < steps; ++step) {
    const std::size_t what = blocks.below(8);
    if (blocks.size() == 0 || (what < 4 && blocks.size() < most_live))
      blocks.allocate(size(), std::size_t{1} << (blocks.below(4) == 0 ? blocks.below(12) : 0));
    else if (what < 7) blocks.free_one();
    else blocks.expand_one(size());
    if (step % 4 == 0 || most_live < 20) check(blocks, r);
    ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed << ", step " << step;
  }
  EXPECT_EQ(blocks.refusals(), 0u);
  blocks.free_all();
}

TEST(tlsf_resource, agrees_with_a_map_in_random_walks) {
  for (unsigned seed = 1; seed <= (ashlar_test::is_slow ? 6u : 30u); ++seed) walk_at_random(seed, 12, 300);
  walk_at_random(100, 200, ashlar_test::is_slow ? 500 : 4000);
}

// Robson, 1977: good fit over sizes up to n times the smallest needs at most about live * (log2 n / 2 + 1) bytes in
// theory; real programs need far less. Here a churn at constant live size may need at most 1.25 times the live bytes.
TEST(tlsf_resource, long_churn_does_not_fragment_without_bound) {
  std::vector<std::byte> memory(2 * 1024 * 1024);
  tlsf_resource<null_resource> r(memory);
  std::mt19937 random(11);
  std::vector<ashlar::block> live;
  std::size_t live_bytes = 0, highest = 0;
  const int steps = ashlar_test::is_slow ? 30'000 : 200'000;
  for (int step = 0; step < steps; ++step) {
    const std::size_t bytes = 16 + random() % (std::size_t{16} << (random() % 8));
    while (live_bytes + bytes > 1'000'000) {
      std::swap(live[random() % live.size()], live.back());
      live_bytes -= live.back().size;
      r.deallocate(live.back().data, live.back().size, 1);
      live.pop_back();
    }
    void* const p = r.try_allocate(bytes, 1);
    ASSERT_NE(p, nullptr);
    live.push_back({p, bytes});
    live_bytes += bytes;
    highest = std::max(highest, static_cast<std::size_t>(static_cast<std::byte*>(p) - memory.data()) + bytes);
  }
  EXPECT_LT(highest, 1'250'000u);
  for (const ashlar::block& each : live) r.deallocate(each.data, each.size, 1);
  EXPECT_EQ(r.largest_free() + tlsf_block::header_bytes + ashlar::detail::tlsf_slack::bytes, r.capacity());
}

const bool tested = ashlar_test::conforms<growing, buffered, spilling>("tlsf_resource");

}  // namespace
