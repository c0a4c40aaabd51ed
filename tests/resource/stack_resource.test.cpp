// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the resource with frees in reverse order: padding, chunk boundaries, markers, growth, lack of memory; and of
// two in one buffer: disjoint, exact to the byte, and full when they meet.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/two_ended_stack.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/stack_model.hpp"

namespace {

using ashlar::null_resource;
using ashlar::resource_ref;
using ashlar::stack_resource;
using ashlar::stack_resource_options;
using ashlar::two_ended_stack;
using ashlar::detail::stack_grain;
using ashlar_test::counting_resource;
using ashlar_test::taken;

using shared = resource_ref<counting_resource<>>;
using stack = stack_resource<shared>;
using buffer_stack = stack_resource<null_resource>;

constexpr stack_resource_options small_steps{.initial_bytes = 1024, .max_growth_bytes = 8192};

struct lifo : ashlar_test::conformance_defaults {
  static constexpr bool any_order = false;
  static constexpr std::size_t churn_steps = ashlar_test::is_slow ? 500 : 2000;
};
struct over_upstream : lifo {
  counting_resource<> upstream;
  stack resource{small_steps, upstream};
};
struct in_a_buffer : lifo {
  static constexpr bool bounded = true;
  std::vector<std::byte> memory = std::vector<std::byte>(512 * 1024);
  buffer_stack resource{memory};
};
TEST(stack_resource, neither_copies_nor_moves_and_a_marker_is_a_small_value) {
  EXPECT_FALSE(std::is_copy_constructible_v<stack> || std::is_move_constructible_v<stack>);
  EXPECT_FALSE(std::is_copy_assignable_v<stack> || std::is_move_assignable_v<stack>);
  EXPECT_TRUE(std::is_trivially_copyable_v<stack::marker>);
  if (!ashlar_test::is_checked) EXPECT_EQ(sizeof(stack::marker), 2 * sizeof(void*));
}

TEST(stack_resource, an_ordinary_block_costs_no_header_at_fast) {
  counting_resource<> upstream;
  stack s(upstream);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, stack_grain, stack_grain + 1, std::size_t{100}}) {
    const std::size_t before = s.used();
    static_cast<void>(s.allocate(bytes, 1));
    EXPECT_EQ(s.used() - before, taken(bytes));
  }
  if (!ashlar_test::is_checked) EXPECT_EQ(taken(64), 64u);
}

TEST(stack_resource, takes_the_top_block_back_without_its_size) {
  counting_resource<> upstream;
  stack s({.initial_bytes = 256}, upstream);
  std::vector<void*> blocks;
  for (const std::size_t bytes : {0u, 1u, 100u, 1000u, 17u, 5000u}) blocks.push_back(s.allocate(bytes, stack_grain));
  for (; !blocks.empty(); blocks.pop_back()) {
    s.deallocate(blocks.back());
    EXPECT_TRUE(s.invariant());
    EXPECT_FALSE(s.owns(blocks.back()));
  }
  EXPECT_EQ(s.used(), 0u);
}

TEST(stack_resource, large_alignments_are_served_or_refused) {
  counting_resource<> upstream;
  stack s(small_steps, upstream);
  constexpr std::size_t large = std::size_t{2} << 20;
  void* const p = s.allocate(10, large);
  EXPECT_TRUE(ashlar::is_aligned(p, large));
  const std::size_t used = s.used();
  for (const std::size_t absurd : {ashlar::max_size / 2 + 1, ashlar::max_size / 4 + 1})
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, ashlar::max_block_bytes})
      EXPECT_EQ(s.try_allocate(bytes, absurd), nullptr);
  EXPECT_EQ(s.used(), used);
  s.deallocate(p, 10, large);
  EXPECT_EQ(s.used(), 0u);
}

// Fills the first chunk, so that the next block lies in another.
std::vector<void*> fill_chunk(stack& s) {
  std::vector<void*> blocks;
  const std::size_t before = s.capacity();
  do blocks.push_back(s.allocate(64, 16));
  while (s.capacity() == before || before == 0);
  s.deallocate(blocks.back(), 64, 16);
  blocks.pop_back();
  return blocks;
}

TEST(stack_resource, asks_the_upstream_once_for_going_to_and_fro_over_a_border) {
  counting_resource<> upstream;
  stack s(small_steps, upstream);
  static_cast<void>(s.allocate(64, 16));
  std::vector<void*> blocks = fill_chunk(s);
  const std::size_t used = s.used();
  const std::size_t asked = upstream.allocations();
  for (int round = 0; round < 100; ++round) {
    void* const over = s.allocate(64, 16);  // the first of its chunk
    s.deallocate(over, 64, 16);
    EXPECT_EQ(s.used(), used);
    void* const last = blocks.back();
    s.deallocate(last, 64, 16);  // the last of the chunk below
    const auto at = s.mark();
    static_cast<void>(s.allocate(64, 16));
    static_cast<void>(s.allocate(64, 16));
    s.rewind(at);
    blocks.back() = s.allocate(64, 16);
    EXPECT_TRUE(s.invariant());
  }
  EXPECT_EQ(upstream.allocations(), asked);
  EXPECT_EQ(upstream.deallocations(), 0u);
  s.trim();
  EXPECT_EQ(upstream.deallocations(), 1u);
  EXPECT_EQ(s.used(), used);
}

TEST(stack_resource, growth_is_geometric_and_bounded) {
  counting_resource<> upstream;
  stack s(small_steps, upstream);
  std::size_t largest_step = 0;
  for (std::size_t held = 0; held < 200'000;) {
    static_cast<void>(s.allocate(100, 8));
    const std::size_t now = upstream.balance().bytes;
    largest_step = std::max(largest_step, now - held);
    EXPECT_LE(now - held, small_steps.max_growth_bytes);
    held = now;
  }
  EXPECT_EQ(largest_step, small_steps.max_growth_bytes);
  EXPECT_LE(upstream.allocations(), 200'000u / small_steps.max_growth_bytes + 5);
}

TEST(stack_resource, a_block_larger_than_any_step_has_a_chunk_of_its_own) {
  counting_resource<> upstream;
  stack s(small_steps, upstream);
  void* const small = s.allocate(10, 1);
  void* const large = s.allocate(100'000, 4096);
  EXPECT_TRUE(ashlar::is_aligned(large, 4096));
  s.deallocate(large, 100'000, 4096);
  s.deallocate(small, 10, 1);
  EXPECT_EQ(s.used(), 0u);
  EXPECT_LE(upstream.balance().blocks, 2u);
  EXPECT_GE(s.high_water(), 100'000u);
  s.trim();
  EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
  EXPECT_EQ(s.capacity(), 0u);
}

TEST(stack_resource, a_spare_chunk_that_is_too_small_goes_back_first) {
  counting_resource<> upstream;
  stack s(small_steps, upstream);
  s.deallocate(s.allocate(100, 8), 100, 8);
  s.deallocate(s.allocate(50'000, 8), 50'000, 8);
  EXPECT_EQ(upstream.balance().blocks, 1u);
  EXPECT_EQ(upstream.peak().blocks, 1u);
}

TEST(stack_resource, stays_in_its_buffer_over_a_null_resource) {
  alignas(64) std::array<std::byte, 64> memory;
  for (std::size_t skip = 0; skip < 64; ++skip) {
    buffer_stack s{std::span<std::byte>(memory).subspan(skip)};
    EXPECT_EQ(s.capacity(), ashlar::align_down(64 - ashlar::align_up(skip, stack_grain), stack_grain));
    std::size_t blocks = 0;
    while (void* const p = s.try_allocate(1, 1)) {
      EXPECT_TRUE(p >= memory.data() + skip && p < memory.data() + 64);
      ++blocks;
    }
    EXPECT_EQ(blocks, s.capacity() / taken(1));
    s.release();
    EXPECT_EQ(s.used(), 0u);
  }
  buffer_stack none{std::span<std::byte>()};
  EXPECT_EQ(none.try_allocate(0, 1), nullptr);
  EXPECT_FALSE(none.owns(nullptr));
}

TEST(stack_resource, a_buffer_comes_first_and_stays_when_all_is_released) {
  alignas(16) std::array<std::byte, 1024> memory;
  counting_resource<> upstream;
  stack s(memory, {}, upstream);
  void* const first = s.allocate(64, 16);
  EXPECT_TRUE(first >= memory.data() && first < memory.data() + 1024);
  static_cast<void>(s.allocate(5000, 16));
  EXPECT_EQ(upstream.balance().blocks, 1u);
  s.release();
  EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
  EXPECT_EQ(s.capacity(), 1024u);
  EXPECT_EQ(s.allocate(64, 16), first);
}

TEST(stack_resource, the_top_block_grows_and_shrinks_where_it_stands) {
  alignas(16) std::array<std::byte, 1024> memory;
  buffer_stack s(memory);
  void* const lower = s.allocate(10, 1);
  void* const upper = s.allocate(10, 1);
  EXPECT_FALSE(s.try_expand(lower, 10, 100, 1));
  EXPECT_TRUE(s.try_expand(upper, 10, 500, 1));
  EXPECT_EQ(s.used(), taken(10) + taken(500));
  EXPECT_FALSE(s.try_expand(upper, 500, 5000, 1));
  EXPECT_TRUE(s.try_expand(upper, 500, 0, 1));
  EXPECT_EQ(s.used(), taken(10) + taken(0));
  EXPECT_EQ(s.high_water(), taken(10) + taken(500));
  s.deallocate(upper, 0, 1);
  s.deallocate(lower, 10, 1);
  EXPECT_EQ(s.used(), 0u);
}

TEST(stack_resource, expands_the_top_block_below_an_empty_chunk) {
  counting_resource<> upstream;
  stack s(small_steps, upstream);
  void* const lower = s.allocate(500, 8);
  void* const upper = s.allocate(2000, 8);
  s.deallocate(upper, 2000, 8);
  EXPECT_TRUE(s.try_expand(lower, 500, 600, 8));
  s.deallocate(lower, 600, 8);
  EXPECT_EQ(s.used(), 0u);
}

// At `fast` a wrong order corrupts nothing: the block stays. From `checked` on it is reported; see the death tests.
TEST(stack_resource, lets_a_block_be_that_is_freed_out_of_order_at_fast) {
  if (ashlar_test::is_checked) GTEST_SKIP() << "is reported";
  counting_resource<> upstream;
  stack s(upstream);
  const auto start = s.mark();
  void* const lower = s.allocate(64, 16);
  void* const upper = s.allocate(64, 64);
  s.deallocate(lower, 64, 16);
  int foreign = 0;
  s.deallocate(&foreign, 4, 4);
  s.deallocate(nullptr, 4, 4);
  EXPECT_EQ(s.allocate(64, 16), static_cast<std::byte*>(upper) + 64);
  s.rewind(start);
  EXPECT_EQ(s.used(), 0u);
  EXPECT_EQ(s.allocate(64, 16), lower);
}

template <class Stack>
void walk(Stack& s, unsigned seed) {
  ashlar_test::stack_model<Stack> model(s, seed);
  for (int step = 0; step < (ashlar_test::is_slow ? 1500 : 10'000); ++step) {
    model.step();
    ASSERT_TRUE(s.invariant()) << "seed " << seed << " step " << step;
  }
  EXPECT_EQ(s.high_water(), model.most_used());
  EXPECT_TRUE(model.all_intact());
  while (model.depth() != 0) model.pop();
  EXPECT_EQ(s.used(), 0u);
}

TEST(stack_resource, agrees_with_a_vector_of_blocks_in_a_random_walk) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    counting_resource<> upstream;
    stack s(small_steps, upstream);
    walk(s, seed);
    alignas(16) std::array<std::byte, 10'001> memory;
    buffer_stack b(std::span<std::byte>(memory).subspan(seed));
    walk(b, seed);
    stack both(std::span<std::byte>(memory), small_steps, upstream);
    walk(both, seed);
  }
}

using front = two_ended_stack::front_resource;
using back = two_ended_stack::back_resource;

template <class End>
struct one_end : lifo {
  static constexpr bool bounded = true;
  std::vector<std::byte> memory = std::vector<std::byte>(512 * 1024);
  two_ended_stack both{memory};
  ashlar::resource_ref<End> resource{end()};

  End& end() {
    if constexpr (std::is_same_v<End, front>) return both.front();
    else return both.back();
  }
};

TEST(two_ended_stack, grows_from_both_ends_and_is_full_when_they_meet) {
  alignas(16) std::array<std::byte, 1024> memory;
  two_ended_stack s(memory);
  void* const lowest = s.front().allocate(100, 8);
  void* const highest = s.back().allocate(100, 8);
  EXPECT_LT(lowest, highest);
  EXPECT_EQ(s.used(), 2 * taken(100));
  EXPECT_TRUE(s.front().owns(lowest) && !s.front().owns(highest));
  EXPECT_TRUE(s.back().owns(highest) && !s.back().owns(lowest));
  std::size_t blocks = 0;
  while (s.front().try_allocate(1, 1) != nullptr && s.back().try_allocate(1, 1) != nullptr) ++blocks;
  EXPECT_LT(s.available(), taken(1));
  EXPECT_EQ(s.back().try_allocate(0, 1), nullptr);
  EXPECT_TRUE(s.invariant());
  EXPECT_GE(blocks, (1024 - 2 * taken(100)) / (2 * taken(1)) - 1);
  EXPECT_EQ(s.high_water(), s.used());
  s.release();
  EXPECT_EQ(s.used(), 0u);
  EXPECT_EQ(s.back().allocate(100, 8), highest);
}

TEST(two_ended_stack, a_small_or_empty_buffer_has_nothing) {
  alignas(16) std::array<std::byte, 16> memory;
  for (std::size_t skip = 0; skip <= 16; ++skip) {
    two_ended_stack s{std::span<std::byte>(memory).subspan(skip)};
    EXPECT_EQ(s.capacity(), skip == 0 ? 16u : skip <= 16 - stack_grain ? stack_grain : 0u);
    if (s.capacity() < taken(0)) EXPECT_EQ(s.back().try_allocate(0, 1), nullptr);
    EXPECT_EQ(s.front().try_allocate(17, 1), nullptr);
    EXPECT_FALSE(s.front().owns(nullptr) || s.back().owns(memory.data()));
    EXPECT_TRUE(s.invariant());
  }
  two_ended_stack none{std::span<std::byte>()};
  EXPECT_EQ(none.front().try_allocate(0, 4096), nullptr);
  none.release();
}

// Two models that share a buffer: operations at one end leave the other's blocks unchanged.
TEST(two_ended_stack, each_end_agrees_with_a_vector_of_blocks_in_a_random_walk) {
  alignas(16) static std::array<std::byte, 12'001> memory;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    two_ended_stack s(std::span<std::byte>(memory).subspan(seed));
    ashlar_test::stack_model<front> low(s.front(), seed);
    ashlar_test::stack_model<back> high(s.back(), seed + 100);
    for (int step = 0; step < (ashlar_test::is_slow ? 1500 : 10'000); ++step) {
      (step * 7 / 3 + step) % 2 == 0 ? low.step() : high.step();
      ASSERT_TRUE(s.invariant()) << "seed " << seed << " step " << step;
    }
    EXPECT_TRUE(low.all_intact() && high.all_intact());
    while (low.depth() != 0) low.pop();
    while (high.depth() != 0) high.pop();
    EXPECT_EQ(s.used(), 0u);
    EXPECT_GT(low.refusals() + high.refusals(), 0u);
  }
}

TEST(two_ended_stack, lets_a_block_be_that_is_freed_out_of_order_at_fast) {
  if (ashlar_test::is_checked) GTEST_SKIP() << "is reported";
  alignas(16) std::array<std::byte, 1024> memory;
  two_ended_stack s(memory);
  void* const first = s.back().allocate(64, 16);
  void* const second = s.back().allocate(64, 64);
  const std::size_t used = s.used();
  s.back().deallocate(first, 64, 16);
  s.front().deallocate(second, 64, 64);
  s.front().deallocate(nullptr, 1, 1);
  EXPECT_EQ(s.used(), used);
}

const bool tested = ashlar_test::conforms<over_upstream, in_a_buffer>("stack_resource");
const bool ends_tested = ashlar_test::conforms<one_end<front>, one_end<back>>("two_ended_stack");

}  // namespace
