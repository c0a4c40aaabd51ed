// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the bump pointer, of markers, and of pending destructors.
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

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::detail::bump;

alignas(64) std::array<std::byte, 256> memory;

bump over(std::size_t skip, std::size_t bytes) { return {memory.data() + skip, memory.data() + skip + bytes}; }

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
  some.rewind(memory.data());
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

TEST(marker_registry, costs_nothing_without_checks) {
  EXPECT_TRUE(std::is_empty_v<ashlar::detail::no_marker_registry> &&
              std::is_empty_v<ashlar::detail::no_marker_registry::ticket>);
  ashlar::detail::no_marker_registry book;
  EXPECT_TRUE(book.is_good(book.open()));
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

}  // namespace
