// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of writes to dead blocks of stacks at level hardened: each byte, found at its next use or in a sweep.
#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/stack/stack_order.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/two_ended_stack.hpp>

#include "tests/death/caught.hpp"

namespace {

using ashlar_test::caught_in;
using growing = ashlar::stack_resource<ashlar::new_delete_resource>;

class stack_dead_blocks : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar::detail::keeps_canaries)
      GTEST_SKIP() << "poison is kept at level hardened, where no tool sees each access";
  }

  // Calls `use` after a write to `at`, and undoes the write. Expects a report of that byte.
  template <class Use>
  static void expect_seen(std::byte* at, const Use& use) {
    *at ^= std::byte{0x41};
    const auto seen = caught_in(use);
    *at ^= std::byte{0x41};
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(ashlar::name_of(seen->kind), "corrupt_link") << seen->what;
    EXPECT_EQ(seen->pointer, at);
  }
};

constexpr std::size_t bytes = 300;

template <class Stack>
std::byte* take(Stack& stack) {
  return static_cast<std::byte*>(stack.allocate(bytes, 8));
}

template <class Stack, class Sweep>
void expect_seen_by_use_and(Stack& stack, const Sweep& expect) {
  static_cast<void>(take(stack));
  for (std::size_t index = 0; index < bytes; index += 7) {
    std::byte* const p = take(stack);
    stack.deallocate(p, bytes, 8);
    expect(p + index, [&] { static_cast<void>(take(stack)); });
  }
}

TEST_F(stack_dead_blocks, a_write_to_any_byte_is_seen_when_it_is_used_again) {
  const auto expect = [](std::byte* at, const auto& use) { expect_seen(at, use); };
  growing stack;
  expect_seen_by_use_and(stack, expect);
  alignas(16) std::array<std::byte, 4096> memory;
  ashlar::two_ended_stack both(memory);
  expect_seen_by_use_and(both.front(), expect);
  expect_seen_by_use_and(both.back(), expect);
}

TEST_F(stack_dead_blocks, what_a_rewind_frees_is_poisoned) {
  growing stack;
  const auto start = stack.mark();
  const std::array<std::byte*, 3> p = {take(stack), take(stack), take(stack)};
  stack.rewind(start);
  for (std::byte* const each : p) expect_seen(each + 17, [&] { static_cast<void>(stack.allocate(5000, 8)); });
}

TEST_F(stack_dead_blocks, what_a_block_gave_up_in_place_is_dead) {
  growing stack;
  std::byte* const p = take(stack);
  ASSERT_TRUE(stack.try_expand(p, bytes, 50, 8));
  expect_seen(p + 290, [&] { static_cast<void>(stack.try_expand(p, 50, bytes, 8)); });
}

TEST_F(stack_dead_blocks, a_chunk_is_looked_at_when_the_stack_leaves_it) {
  growing stack(ashlar::proportional_growth{.smallest = 4096, .largest = 4096, .divisor = 1});
  static_cast<void>(take(stack));
  std::byte* const p = take(stack);
  stack.deallocate(p, bytes, 8);
  expect_seen(p + 100, [&] { static_cast<void>(stack.allocate(8000, 8)); });
}

TEST_F(stack_dead_blocks, the_other_end_sees_it_when_it_takes_the_place) {
  alignas(16) std::array<std::byte, 4096> memory;
  ashlar::two_ended_stack both(memory);
  std::byte* const p = take(both.front());
  both.front().deallocate(p, bytes, 8);
  expect_seen(p + 250, [&] { static_cast<void>(both.back().allocate(3800, 8)); });
}

TEST_F(stack_dead_blocks, of_much_that_is_freed_at_once_64_kib_are_watched) {
  constexpr std::size_t large = 200'000, watched = ashlar::detail::stack_poison<0, true>::most_at_once;
  growing stack;
  const auto start = stack.mark();
  auto* const p = static_cast<std::byte*>(stack.allocate(large, 8));
  stack.rewind(start);
  expect_seen(p + watched - 100, [&] { stack.trim(); });
  p[large - 1] ^= std::byte{1};
  EXPECT_FALSE(caught_in([&] { stack.release(); }).has_value());
}

}  // namespace
