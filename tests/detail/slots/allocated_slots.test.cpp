// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of slots in one block of an upstream: its allocation, its layout, its failures.
#include <ashlar/detail/slots/allocated_slots.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/slots/slot_guard.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::detail::allocated_slots;
using ashlar::detail::plain_slot_word;
using ashlar::detail::shared_slot_word;
using counting = ashlar_test::counting_resource<>;
using counting_ref = ashlar::resource_ref<counting>;

template <std::size_t Bytes, std::size_t Alignment, class Word = plain_slot_word>
using slots_of = allocated_slots<Bytes, Alignment, Word, counting_ref>;

TEST(allocated_slots, allocate_once_when_opened) {
  counting upstream;
  {
    slots_of<24, 8> slots(100, upstream);
    EXPECT_FALSE(slots.is_open());
    EXPECT_EQ(slots.capacity(), 100u);
    EXPECT_EQ(upstream.allocations(), 0u);
    slots.open(&slots);
    EXPECT_TRUE(slots.is_open());
    EXPECT_EQ(upstream.allocations(), 1u);
    EXPECT_LE(upstream.balance().bytes, 100u * (ashlar::detail::slot_guard<24, 8>::stride + 4) + 256);
  }
  EXPECT_EQ(upstream.deallocations(), 1u);
}

TEST(allocated_slots, that_were_never_opened_give_nothing_back) {
  counting upstream;
  {
    const slots_of<24, 8> slots(100, upstream);
  }
  EXPECT_EQ(upstream.deallocations(), 0u);
}

template <std::size_t Bytes, std::size_t Alignment>
void expect_in_place(std::size_t count) {
  counting upstream;
  slots_of<Bytes, Alignment> slots(count, upstream);
  ASSERT_TRUE(slots.try_open(&slots));
  EXPECT_TRUE(ashlar::detail::is_aligned(slots.first_slot(), Alignment));
  EXPECT_TRUE(ashlar::detail::is_aligned(slots.words(), alignof(plain_slot_word)));
  EXPECT_GE(ashlar::detail::address_of(slots.words()), ashlar::detail::address_of(slots.first_slot()) + count * Bytes);
  for (std::size_t i = 0; i < count; ++i) slots.words()[i].store(1);  // all are in the block
}

TEST(allocated_slots, slots_are_aligned_and_words_lie_behind_them) {
  for (const std::size_t count : {1u, 2u, 3u, 100u}) {
    expect_in_place<1, 1>(count);
    expect_in_place<3, 1>(count);
    expect_in_place<48, 16>(count);
    expect_in_place<128, 128>(count);
    expect_in_place<8192, 4096>(count);
  }
}

TEST(allocated_slots, shared_words_start_at_zero_in_dirty_memory) {
  counting upstream;
  slots_of<8, 8, shared_slot_word<>> slots(50, upstream);
  slots.open(&slots);
  for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(slots.words()[i].load(), 0u);
}

TEST(allocated_slots, are_in_the_registry_while_open_where_that_is_kept) {
  counting upstream;
  std::optional<slots_of<16, 8>> slots(std::in_place, std::size_t{4}, counting_ref(upstream));
  slots->open(&slots);
  const void* const slot = slots->first_slot() + 3;
  EXPECT_EQ(ashlar::detail::process_slabs.find(slot).owner, ashlar_test::is_checked ? &slots : nullptr);
  slots.reset();
  EXPECT_EQ(ashlar::detail::process_slabs.find(slot).owner, nullptr);
}

TEST(allocated_slots, say_no_and_can_be_asked_again) {
  counting upstream;
  slots_of<16, 8> slots(4, upstream);
  upstream.fail_at(0);
  EXPECT_FALSE(slots.try_open(&slots));
  EXPECT_FALSE(slots.is_open());
  EXPECT_TRUE(slots.try_open(&slots));
}

// Every capacity too large for a block or for a slot number.
TEST(allocated_slots, absurd_capacities_are_refused_before_the_upstream_is_asked) {
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t capacity : {most, most - 1, most / 2, most / 24, most / 28, most / 28 + 1, most / 2 / 28 + 1,
                                     std::size_t{1} << 30, std::size_t{ashlar::detail::slot_word::max_slots} + 1}) {
    counting upstream;
    slots_of<24, 8> slots(capacity, upstream);
    EXPECT_FALSE(slots.try_open(&slots)) << capacity;
#if defined(__cpp_exceptions)
    EXPECT_THROW(slots.open(&slots), std::bad_array_new_length) << capacity;
#endif
    EXPECT_EQ(upstream.allocations() + upstream.refusals(), 0u) << capacity;
    EXPECT_EQ(slots.capacity(), capacity);
  }
}

}  // namespace
