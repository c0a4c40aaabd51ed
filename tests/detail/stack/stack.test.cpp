// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the bump pointer, of markers and destructors, and of the checks of a stack.
#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/stack/chunk_store.hpp>
#include <ashlar/detail/stack/finalizers.hpp>
#include <ashlar/detail/stack/marker_registry.hpp>
#include <ashlar/detail/stack/stack_order.hpp>
#include <ashlar/detail/support/poison.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::detail::bump;

alignas(64) std::array<std::byte, 256> of_bump;

bump over(std::size_t skip, std::size_t bytes) { return {of_bump.data() + skip, of_bump.data() + skip + bytes}; }

// Returns: the block, or null, with numbers unknown to the compiler.
void* take(bump& from, std::size_t bytes, std::size_t alignment) {
  volatile std::size_t unknown_bytes = bytes;
  volatile std::size_t unknown_alignment = alignment;
  const std::size_t size = unknown_bytes;
  const bump::place at = from.place_for(size, unknown_alignment);
  return at.is_free ? from.take(at, size) : nullptr;
}

TEST(bump, agrees_for_constant_and_variable_numbers) {
  for (std::size_t skip = 0; skip < 16; ++skip)
    for (std::size_t bytes = 0; bytes < 64; ++bytes) {
      bump of_known = over(skip, bytes), of_unknown = over(skip, bytes);
      const bump::place at = of_known.place_for(24, 16);
      EXPECT_EQ(at.is_free ? of_known.take(at, 24) : nullptr, take(of_unknown, 24, 16));
      EXPECT_EQ(of_known.top(), of_unknown.top());
    }
}

// Against arithmetic that cannot wrap, for sizes at every border, unknown to the compiler.
TEST(bump, refuses_requests_that_do_not_fit_for_any_numbers) {
  constexpr std::size_t top_bit = ~(ashlar::detail::max_size >> 1);
  const std::size_t sizes[] = {0,
                               1,
                               7,
                               100,
                               101,
                               ashlar::detail::max_block_bytes,
                               top_bit,
                               ashlar::detail::max_size - 63,
                               ashlar::detail::max_size};
  for (std::size_t alignment = 1; alignment != 0; alignment *= 2)
    for (const std::size_t bytes : sizes)
      for (std::size_t skip = 0; skip < 64; skip += 9) {
        bump some = over(skip, 100);
        const std::size_t past = ashlar::detail::address_of(some.top()) % alignment;
        const std::size_t padding = past != 0 ? alignment - past : 0;
        const bool fits = padding <= 100 && (bytes != 0 ? bytes : 1) <= 100 - padding;
        EXPECT_EQ(take(some, bytes, alignment) != nullptr, fits) << bytes << " at " << alignment;
      }
}

TEST(bump, resizes_and_takes_back_the_last_block_only) {
  bump some = over(0, 64);
  void* const first = take(some, 16, 16);
  void* const last = take(some, 16, 16);
  EXPECT_FALSE(some.is_last(first, 16));
  ASSERT_TRUE(some.is_last(last, 16));
  EXPECT_FALSE(some.resize_last(last, 16, 49));
  EXPECT_FALSE(some.resize_last(last, 16, ashlar::detail::max_size));
  EXPECT_TRUE(some.resize_last(last, 16, 48));
  EXPECT_EQ(some.rest(), 0u);
  EXPECT_TRUE(some.resize_last(last, 48, 0));
  EXPECT_EQ(some.rest(), 47u);
  some.take_back(last, 0);
  EXPECT_EQ(take(some, 16, 16), last);
  some.rewind(of_bump.data());
  EXPECT_EQ(take(some, 16, 16), first);
}

using ashlar::detail::mark_ticket;
using ashlar::detail::marker_registry;

TEST(marker_registry, a_marker_is_good_until_an_older_one_is_gone_back_to) {
  marker_registry book;
  const mark_ticket outer = book.open();
  const mark_ticket inner = book.open();
  EXPECT_TRUE(book.is_good(outer) && book.is_good(inner));
  book.close_after(inner);
  EXPECT_TRUE(book.is_good(outer) && book.is_good(inner));  // checking a marker does not change it
  book.close_after(outer);
  EXPECT_TRUE(book.is_good(outer));
  EXPECT_FALSE(book.is_good(inner));
  const mark_ticket instead = book.open();
  EXPECT_TRUE(book.is_good(instead));
  EXPECT_FALSE(book.is_good(inner));
  book.close_all();
  EXPECT_FALSE(book.is_good(outer) || book.is_good(instead) || book.is_good({}));
}

// Against a plain stack of all valid markers: no valid one is reported, and none above the top is accepted.
TEST(marker_registry, agrees_with_a_stack_of_all_markers) {
  std::mt19937 random(1);
  marker_registry book;
  std::vector<mark_ticket> good, all;
  for (int step = 0; step < 20'000; ++step) {
    if (good.empty() || random() % 8 != 0) {
      all.push_back(book.open());
      good.push_back(all.back());
    } else {
      good.resize(good.size() - random() % std::min<std::size_t>(good.size(), 20));
      book.close_after(good.back());
    }
    const mark_ticket& any = all[all.size() - 1 - random() % std::min<std::size_t>(all.size(), 50)];
    const bool is_good = std::ranges::any_of(good, [&](const mark_ticket& g) { return g.number == any.number; });
    if (is_good || any.depth > good.size()) {
      EXPECT_EQ(book.is_good(any), is_good);
    }
  }
}

using ashlar::detail::finalized;
using ashlar::detail::finalized_array;
using ashlar::detail::finalizers;

std::string ended;

struct named {
  explicit named(char as = '?') : name(as) {}
  named(const named&) = delete;
  named& operator=(const named&) = delete;
  ~named() { ended += name; }
  char name;
};

struct pushes_another {
  pushes_another(finalizers& to, finalized<named>& which) : onto(to), other(which) {}
  ~pushes_another() { onto.push(other.entry); }
  finalizers& onto;
  finalized<named>& other;
};

TEST(finalizers, run_what_a_destructor_pushes) {
  ended.clear();
  finalizers stack;
  finalized<named> first('1'), late('2');
  finalized<pushes_another> pusher(stack, late);
  stack.push(first.entry);
  stack.push(pusher.entry);
  stack.run_down_to(nullptr, &stack);
  EXPECT_EQ(ended, "21");
}

struct counted {
  ~counted() { ended += static_cast<char>('0' + number); }
  int number = 0;
};

TEST(finalizers, end_the_elements_of_an_array_the_last_first) {
  ended.clear();
  using array = finalized_array<counted>;
  alignas(array) std::array<std::byte, array::offset() + 3 * sizeof(counted)> raw;
  auto* const three = ::new (raw.data()) array;
  three->build(3);
  for (int i = 0; i < 3; ++i) three->elements()[i].number = i;
  finalizers stack;
  stack.push(three->entry);
  stack.run_down_to(nullptr, &stack);
  EXPECT_EQ(ended, "210");
}

// A function pointer beside the data of blocks is verified before it is called.
TEST(finalizers, are_not_run_where_they_were_written_to) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "verified from level checked on";
  finalized<named> object('x');
  for (std::size_t at = 0; at < 2 * sizeof(void*); ++at) {
    finalizers stack;
    stack.push(object.entry);
    auto* const bytes = static_cast<unsigned char*>(static_cast<void*>(&object.entry));
    bytes[at] ^= 1;
    const auto seen = ashlar_test::caught_in([&] { stack.run_down_to(nullptr, &stack); });
    bytes[at] ^= 1;
    ASSERT_TRUE(seen.has_value()) << at;
    EXPECT_EQ(seen->kind, ashlar::fault::overflow);
    EXPECT_EQ(seen->resource, &stack);
  }
}

TEST(finalizers, end_no_array_whose_count_was_written_to) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "verified from level checked on";
  using array = finalized_array<counted>;
  alignas(array) std::array<std::byte, array::offset() + 2 * sizeof(counted)> raw;
  auto* const two = ::new (raw.data()) array;
  two->build(2);
  two->count = 200;
  finalizers stack;
  stack.push(two->entry);
  const auto seen = ashlar_test::caught_in([&] { stack.run_down_to(nullptr, &stack); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, ashlar::fault::underflow);
}

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
  EXPECT_EQ(unchecked_order::gap_above(memory.data() + stack_grain, stack_grain), 0u);
  EXPECT_EQ(unchecked_order::gap_above(memory.data(), 64), 64u);
  EXPECT_EQ(unchecked_order::gap_above(memory.data() + 64 - stack_grain, 64), stack_grain);
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

constexpr std::size_t canary = ashlar::detail::watches_slack ? 1 : 0;

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
