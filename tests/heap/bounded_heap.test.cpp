// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of bounded_heap: the laws, a random walk beside a model, exhausted memory, misuse.
#include <array>
#include <cstddef>
#include <new>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/fallback.hpp>
#include <ashlar/heap/bounded_heap.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>

#include "tests/resource/walked_heap.hpp"
#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::bounded_heap;
using ashlar_test::counting_resource;

using counted = bounded_heap<ashlar::resource_ref<counting_resource<>>>;
using in_buffer = bounded_heap<ashlar::null_resource>;

constexpr bool is_hardened = ashlar::checking_level >= ashlar::checking::hardened;
constexpr std::size_t region = std::size_t{1} << 20;

struct small_blocks : ashlar_test::conformance_defaults {
  static constexpr bool bounded = true;
  static constexpr std::size_t churn_steps = ashlar_test::is_slow ? 300 : 2000;
  counting_resource<> memory;  // not named upstream, since `release` keeps its memory
  counted resource{region, memory};
};

struct blocks_of_all_sizes : ashlar_test::conformance_defaults {
  static constexpr bool bounded = true;
  static constexpr std::size_t largest = 40'000;
  static constexpr std::size_t most_live = 20;
  static constexpr std::size_t churn_steps = 100;
  std::vector<std::byte> memory = std::vector<std::byte>(region + region / 4 + 1);
  bounded_heap<ashlar::null_resource, ashlar::tlsf_small> resource{std::span<std::byte>(memory).subspan(1)};
};

const bool tested = ashlar_test::conforms<small_blocks, blocks_of_all_sizes>("bounded_heap");

using walked = ashlar_test::walked_heap<in_buffer>;

void step(walked& blocks, std::size_t most_live) {
  const auto any_size = [&] { return blocks.below(blocks.below(8) == 0 ? 30'000 : 1200); };
  const std::size_t what = blocks.below(16);
  if ((what < 8 || blocks.size() == 0) && blocks.size() < most_live)
    blocks.allocate(any_size(), blocks.below(4) == 0 ? std::size_t{1} << blocks.below(13) : 1);
  else if (what < 13) blocks.free_one();
  else if (what == 13) blocks.expand_one(any_size());
  else blocks.reallocate_one(any_size());
}

TEST(bounded_heap, agrees_with_a_map_while_memory_runs_out_again_and_again) {
  std::vector<std::byte> memory(region);
  for (unsigned seed = 1; seed <= 4; ++seed) {
    in_buffer heap(std::span<std::byte>(memory).subspan(seed, 40'000 + 60'000 * seed));
    const std::size_t whole = heap.largest_free();
    walked blocks(heap, seed);
    const auto for_each_live = [&](const auto& f) { heap.for_each_live(f); };
    for (int i = 0; i < (ashlar_test::is_slow ? 1500 : 8000); ++i) {
      step(blocks, i / 500 % 2 == 0 ? 1000 : 20);
      if (i % 100 == 0) blocks.look_around(for_each_live);
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed << ", step " << i;
    }
    EXPECT_NE(blocks.refusals(), 0u);
    seed % 2 == 0 ? blocks.free_all() : (blocks.forget(), heap.release());
    blocks.look_around(for_each_live);
    EXPECT_NE(heap.try_allocate(whole), nullptr);  // all blocks have joined, the spare window too
  }
}

TEST(bounded_heap, asks_the_upstream_once_and_never_again) {
  counting_resource<> upstream;
  {
    counted heap(region, upstream);
    EXPECT_EQ(heap.held_bytes(), region);
    constexpr std::size_t percent = is_hardened ? 84 : 95;  // the sizes of cells take memory beside the cells
    EXPECT_GT(heap.largest_free(), region * (percent + 1) / 100);
    std::vector<void*> blocks;
    while (void* const p = heap.try_allocate(100)) blocks.push_back(p);
    EXPECT_GT(blocks.size() * 112, region * percent / 100);
    for (void* const p : blocks) heap.deallocate(p);
    EXPECT_EQ(heap.try_allocate(ashlar::max_size), nullptr);
    EXPECT_EQ(heap.try_allocate_zeroed(region), nullptr);
    EXPECT_EQ(heap.try_allocate(1, ashlar::max_size / 2 + 1), nullptr);
    heap.deallocate(nullptr);
    heap.release();
    EXPECT_EQ(upstream.allocations(), 1u);
  }
#if defined(__cpp_exceptions)
  upstream.fail_from(0);
  EXPECT_THROW(counted(region, upstream), std::bad_alloc);
#endif
}

TEST(bounded_heap, a_buffer_of_any_size_is_no_harm) {
  alignas(64) std::array<std::byte, 2000> memory;
  for (std::size_t size = 0; size <= memory.size(); size += 1 + size / 9) {
    in_buffer heap(std::span<std::byte>(memory).first(size));
    void* const p = heap.try_allocate(1);
    EXPECT_TRUE(heap.invariant() && !heap.owns(&heap) && (p == nullptr || heap.owns(p)));
    heap.deallocate(p);
  }
}

TEST(bounded_heap, resizes_within_a_class_and_spills_into_another_resource) {
  bounded_heap<> heap(region);
  EXPECT_EQ(heap.allocate_at_least(1).size, is_hardened ? 1u : 16u);
  void* const p = heap.allocate(6000);
  EXPECT_EQ(heap.reallocate(p, 5000), p);
  heap.deallocate(p, 5000);

  std::array<std::byte, 40'000> memory;
  ashlar::fallback<in_buffer, ashlar::new_delete_resource> spilling{std::span<std::byte>(memory)};
  void* const outside = spilling.allocate(100'000, 16);
  void* const inside = spilling.allocate(100, 16);
  EXPECT_TRUE(inside >= memory.data() && inside < memory.data() + memory.size());
  spilling.deallocate(outside, 100'000, 16);
  spilling.deallocate(inside, 100, 16);
}

}  // namespace
