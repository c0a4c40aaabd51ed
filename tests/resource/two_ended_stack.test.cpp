// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of two stacks in one buffer: disjoint, exact to the byte, and full when they meet.
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/resource/two_ended_stack.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/stack_model.hpp"

namespace {

using ashlar::two_ended_stack;
using ashlar::detail::stack_grain;
using ashlar_test::taken;
using front = two_ended_stack::front_resource;
using back = two_ended_stack::back_resource;

template <class End>
struct one_end : ashlar_test::conformance_defaults {
  static constexpr bool any_order = false;
  static constexpr bool bounded = true;
  static constexpr std::size_t churn_steps = ashlar_test::is_slow ? 500 : 2000;
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

}  // namespace

namespace ashlar_test {
using ends = ::testing::Types<one_end<front>, one_end<back>>;
const bool tested = conforms("two_ended_stack", ends{});
}  // namespace ashlar_test
