// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the checks of a stack: its chunks, its order, its slack and its poison.
#include <array>
#include <cstddef>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/stack/stack_order.hpp>
#include <ashlar/detail/support/poison.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::detail::stack_chunk;

static_assert(sizeof(stack_chunk) % ashlar::detail::stack_grain == 0);

struct made_chunk {
  alignas(stack_chunk) std::array<std::byte, 256> memory{};
  stack_chunk* chunk = ::new (memory.data()) stack_chunk;

  made_chunk() {
    chunk->begin = memory.data() + sizeof(stack_chunk);
    chunk->end = memory.data() + memory.size();
    chunk->set_seal();
  }
};

TEST(stack_chunk, is_not_sound_once_it_was_written_to) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "sealed from level checked on";
  made_chunk made;
  for (std::size_t at = 0; at < 5 * sizeof(void*); ++at) {
    made.memory[at] ^= std::byte{1};
    const auto seen = ashlar_test::caught_in([&] { made.chunk->expect_sound(&made); });
    ASSERT_TRUE(seen.has_value()) << at;
    EXPECT_EQ(seen->kind, ashlar::fault::underflow);
    EXPECT_EQ(seen->resource, &made);
    made.memory[at] ^= std::byte{1};
  }
  made.chunk->top = made.chunk->end;
  made.chunk->set_seal();
  EXPECT_TRUE(made.chunk->is_sound());
}

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

constexpr std::size_t canary = ashlar::detail::stack_blocks_have_canaries ? 1 : 0;

TEST(stack_slack, a_block_takes_whole_grains_and_one_at_least) {
  EXPECT_EQ(ashlar::detail::stack_bytes(0), stack_grain);
  EXPECT_EQ(ashlar::detail::stack_bytes(1), stack_grain);
  EXPECT_EQ(ashlar::detail::stack_bytes(stack_grain - canary), stack_grain);
  EXPECT_EQ(ashlar::detail::stack_bytes(stack_grain - canary + 1), 2 * stack_grain);
}

TEST(stack_slack, a_block_fits_up_to_the_last_byte_and_no_sum_wraps) {
  EXPECT_TRUE(ashlar::detail::fits_stack(64, 0, 64 - canary));
  EXPECT_TRUE(ashlar::detail::fits_stack(64, 16, 48 - canary));
  EXPECT_FALSE(ashlar::detail::fits_stack(64, 16, 49 - canary));
  EXPECT_FALSE(ashlar::detail::fits_stack(0, 0, 0));
  EXPECT_FALSE(ashlar::detail::fits_stack(64, 80, 0));
  EXPECT_FALSE(ashlar::detail::fits_stack(64, 16, ashlar::detail::max_size));
  EXPECT_FALSE(ashlar::detail::fits_stack(64, ashlar::detail::max_size, ashlar::detail::max_size));
}

TEST(stack_slack_death, every_byte_behind_a_block_is_watched) {
  alignas(16) std::array<std::byte, 64> memory{};
  for (const std::size_t bytes : {0u, 1u, 15u, 16u, 31u}) {
    const std::size_t whole = ashlar::detail::stack_bytes(bytes);
    ashlar::detail::fill_stack_slack(memory.data(), bytes);
    ashlar::detail::expect_stack_slack(memory.data(), bytes, nullptr);
    for (std::size_t at = bytes; at < whole; ++at)
      ASHLAR_EXPECT_DEATH((ashlar::detail::mark_readable(&memory[at], 1), memory[at] ^= std::byte{1},
                           ashlar::detail::expect_stack_slack(memory.data(), bytes, nullptr)),
                          "ashlar: overflow: bytes past the end of a block were written to, pointer 0x*, expected " +
                              std::to_string(bytes) + ", got " + std::to_string(at + 1));
  }
  ashlar::detail::mark_live(memory.data(), memory.size());
}

using poison = ashlar::detail::stack_poison<0, true>;

std::string line(std::size_t size) {
  return "ashlar: corrupt_link: a free block was written to, pointer 0x*, resource 0x*, size " + std::to_string(size);
}

class stack_poisons : public ::testing::Test {
protected:
  ~stack_poisons() override { ashlar::detail::mark_live(memory_.data(), memory_.size()); }

  std::byte* at(std::size_t index) { return memory_.data() + index; }
  void write(std::size_t index) {
    ashlar::detail::mark_readable(at(index), 1);
    memory_[index] ^= std::byte{1};
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(200'000);
  poison poison_;
};

TEST_F(stack_poisons, what_no_block_had_may_hold_anything) {
  write(10);
  poison_.take(at(0), at(100), this);
  poison_.verify(this);
}

TEST_F(stack_poisons, a_write_to_what_was_freed_is_seen_when_it_is_taken) {
  poison_.take(at(0), at(300), this);
  poison_.poison_above(at(200), at(300));
  poison_.poison_above(at(100), at(200));
  write(250);
  poison_.take(at(100), at(250), this);
  ASHLAR_EXPECT_DEATH(poison_.take(at(250), at(260), this), line(50));
  ASHLAR_EXPECT_DEATH(poison_.verify(this), line(50));
  ASHLAR_EXPECT_DEATH(poison_.leave(this), line(50));
}

TEST_F(stack_poisons, the_same_downwards) {
  poison_.take(at(100), at(400), this);
  poison_.poison_below(at(100), at(200));
  poison_.poison_below(at(200), at(300));
  write(150);
  poison_.take(at(151), at(300), this);
  ASHLAR_EXPECT_DEATH(poison_.take(at(140), at(151), this), line(51));
}

TEST_F(stack_poisons, the_other_end_takes_from_the_far_side) {
  poison_.poison_above(at(0), at(1000));
  poison_.take(at(900), at(1200), this);
  write(950);
  poison_.verify(this);
  write(899);
  ASHLAR_EXPECT_DEATH(poison_.take(at(800), at(900), this), line(900));
}

TEST_F(stack_poisons, of_much_the_bytes_next_to_the_top_are_poisoned) {
  poison_.poison_above(at(100), at(150'000));
  write(100 + poison::most_at_once);
  poison_.verify(this);
  write(99 + poison::most_at_once);
  ASHLAR_EXPECT_DEATH(poison_.verify(this), line(poison::most_at_once));
  poison_.poison_below(at(10'000), at(190'000));
  write(190'000 - poison::most_at_once - 1);
  poison_.verify(this);
  write(190'000 - poison::most_at_once);
  ASHLAR_EXPECT_DEATH(poison_.verify(this), line(poison::most_at_once));
}

TEST_F(stack_poisons, nothing_is_known_where_the_stack_goes) {
  poison_.poison_above(at(0), at(1000));
  poison_.leave(this);
  write(500);
  poison_.take(at(0), at(1000), this);
}

}  // namespace
