// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of a stack's record of its blocks, in both variants at every level of checking.
#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/detail/stack/stack_order.hpp>

#include "tests/death/caught.hpp"

namespace {

using ashlar::fault;
using ashlar::detail::checked_order;
using ashlar::detail::stack_block;
using ashlar::detail::stack_grain;
using ashlar::detail::unchecked_order;
using ashlar_test::caught_in;

constexpr auto owns_nothing = [](const void*) { return false; };
constexpr auto owns_all = [](const void*) { return true; };

TEST(stack_order, unchecked_remembers_the_padding_of_over_aligned_blocks_only) {
  alignas(64) std::array<std::byte, 256> memory;
  unchecked_order order;
  EXPECT_EQ(unchecked_order::label_bytes(1), 0u);
  EXPECT_EQ(unchecked_order::label_bytes(stack_grain), 0u);
  EXPECT_EQ(unchecked_order::label_bytes(64), stack_grain);
  EXPECT_EQ(ashlar::detail::gap_above<unchecked_order>(memory.data() + stack_grain, stack_grain), 0u);
  EXPECT_EQ(ashlar::detail::gap_above<unchecked_order>(memory.data(), 64), 64u);
  EXPECT_EQ(ashlar::detail::gap_above<unchecked_order>(memory.data() + 64 - stack_grain, 64), stack_grain);
  const stack_block block = {memory.data() + 128, 10, 64};
  order.push(block, memory.data() + 32);
  EXPECT_EQ(order.pop(block, block.data), memory.data() + 32);
  EXPECT_EQ(order.pop({memory.data(), 10, 8}, memory.data()), memory.data());
}

struct three_blocks {
  static constexpr std::size_t step = 64 + 64;
  alignas(64) std::array<std::byte, 3 * step> memory{};
  checked_order order;
  std::array<checked_order::position, 3> before;

  three_blocks() {
    for (std::size_t i = 0; i < 3; ++i) {
      before[i] = order.top();
      order.push(block(i), memory.data() + i * step);
    }
  }
  stack_block block(std::size_t i) { return {memory.data() + i * step + 64, 40, 16}; }
};

TEST(stack_order, checked_lets_the_blocks_go_in_reverse) {
  three_blocks b;
  EXPECT_TRUE(b.order.invariant());
  for (const std::size_t i : {2u, 1u, 0u}) {
    b.order.expect_top(b.block(i), nullptr, owns_nothing);
    EXPECT_EQ(b.order.pop(b.block(i), nullptr), b.memory.data() + i * three_blocks::step);
  }
  EXPECT_EQ(b.order.top().serial, 0u);
}

TEST(stack_order, checked_names_what_is_wrong_with_a_free) {
  three_blocks b;
  const auto kind_of = [&](const stack_block& given, const auto& owns) {
    const auto seen = caught_in([&] { b.order.expect_top(given, &b, owns); });
    return seen ? seen->kind : fault::leak;
  };
  EXPECT_EQ(kind_of(b.block(2), owns_all), fault::leak);  // no error was reported
  EXPECT_EQ(kind_of(b.block(1), owns_all), fault::out_of_order);
  EXPECT_EQ(kind_of({b.block(2).data, 41, 16}, owns_all), fault::size_mismatch);
  EXPECT_EQ(kind_of({b.block(2).data, 40, 32}, owns_all), fault::size_mismatch);
  EXPECT_EQ(kind_of({b.block(1).data, 39, 16}, owns_all), fault::size_mismatch);
  EXPECT_EQ(kind_of({b.block(0).data + 39, 40, 16}, owns_all), fault::misaligned_free);
  EXPECT_EQ(kind_of({b.block(0).data + 40, 40, 16}, owns_all), fault::double_free);
  EXPECT_EQ(kind_of({b.block(0).data + 40, 40, 16}, owns_nothing), fault::invalid_free);
  EXPECT_EQ(kind_of({nullptr, 40, 16}, owns_nothing), fault::invalid_free);
}

TEST(stack_order, checked_rewinds_to_any_position_that_is_still_there) {
  three_blocks b;
  b.order.rewind(b.order.top(), nullptr, nullptr);
  b.order.rewind(b.before[1], nullptr, nullptr);
  b.order.expect_top(b.block(0), nullptr, owns_nothing);
  b.order.rewind(b.before[1], nullptr, nullptr);
  b.order.rewind(b.before[0], nullptr, nullptr);
  EXPECT_EQ(b.order.top().serial, 0u);
}

TEST(stack_order, checked_names_what_is_wrong_with_a_position) {
  three_blocks b;
  const three_blocks other;
  const auto what_of = [&](const checked_order::position& to) {
    const auto seen = caught_in([&] { b.order.rewind(to, nullptr, nullptr); });
    return seen && seen->kind == fault::bad_marker ? seen->what : "";
  };
  const checked_order::position top = b.order.top();
  EXPECT_STREQ(what_of(other.before[1]), "rewound to a marker of another stack");
  EXPECT_STREQ(what_of({}), "rewound to a marker of another stack");
  b.order.resize(41);
  EXPECT_STREQ(what_of(top), "rewound to a marker whose top block was expanded since");
  static_cast<void>(b.order.pop(b.block(2), nullptr));
  EXPECT_STREQ(what_of(top), "rewound to a marker above the top of the stack");
  b.order.push(b.block(2), b.memory.data() + 2 * three_blocks::step);
  EXPECT_STREQ(what_of(top), "rewound to a marker above the top of the stack");
  b.order.clear();
  EXPECT_STREQ(what_of(b.before[1]), "rewound to a marker above the top of the stack");
  EXPECT_STREQ(what_of(b.before[0]), "");
}

TEST(stack_order, checked_sees_a_write_before_a_block) {
  three_blocks b;
  std::byte* const at = b.block(2).data - 1;
  ashlar::detail::mark_readable(at, 1);
  *at ^= std::byte{1};
  const auto seen = caught_in([&] { b.order.expect_top(b.block(2), nullptr, owns_all); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, fault::underflow);
  EXPECT_EQ(seen->pointer, b.block(2).data);
  ashlar::detail::mark_live(b.memory.data(), b.memory.size());
}

}  // namespace
