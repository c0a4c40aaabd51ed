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

TEST(bump, resizes_and_takes_back_the_last_block_only) {
  bump some = over(0, 64);
  void* const first = take(some, 16, 16);
  void* const last = take(some, 16, 16);
  EXPECT_FALSE(some.is_last(first, 16));
  ASSERT_TRUE(some.is_last(last, 16));
  EXPECT_FALSE(some.resize_last(last, 16, 49));
  EXPECT_FALSE(some.resize_last(last, 16, ashlar::max_size));
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

TEST(stack_order, checked_sees_a_write_before_a_block) {
  alignas(64) std::array<std::byte, 256> memory{};
  checked_order order;
  const stack_block block = {memory.data() + 128, 40, 16};
  order.push(block, memory.data());
  std::byte* const at = block.data - 1;
  ashlar::detail::mark_readable(at, 1);
  *at ^= std::byte{1};
  const auto seen = caught_in([&] { order.expect_top(block, nullptr, [](const void*) { return true; }); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, fault::underflow);
  EXPECT_EQ(seen->pointer, block.data);
  ashlar::detail::mark_live(memory.data(), memory.size());
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
  EXPECT_FALSE(ashlar::detail::fits_stack(64, 16, ashlar::max_size));
  EXPECT_FALSE(ashlar::detail::fits_stack(64, ashlar::max_size, ashlar::max_size));
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

}  // namespace
