// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of markers and destructors, of the seals of a stack, and of the bytes that its blocks take.
#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/stack/chunk_store.hpp>
#include <ashlar/detail/stack/stack_order.hpp>
#include <ashlar/detail/support/poison.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::detail::mark_ticket;
using ashlar::detail::marker_registry;

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
using ashlar::detail::stack_grain;
using ashlar_test::caught_in;

TEST(stack_order, checked_sees_a_write_before_a_block) {
  alignas(64) std::array<std::byte, 256> memory{};
  ashlar::detail::checked_order order;
  const ashlar::detail::stack_block block = {memory.data() + 128, 40, 16};
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

}  // namespace
