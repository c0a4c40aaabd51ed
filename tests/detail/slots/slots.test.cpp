// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of slots: handles, their division, their free list and its end, first generations, and marks that neighbours
// share.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/slot_handle.hpp>
#include <ashlar/detail/slots/handle_table.hpp>
#include <ashlar/detail/slots/slot_pool_core.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/face/object_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/forbidden.hpp"
#include "tests/support/pool_traits.hpp"

namespace {

using ashlar::slot_handle;

struct incomplete;
static_assert(sizeof(slot_handle<incomplete>) == 8 && std::is_trivially_copyable_v<slot_handle<incomplete>>);
static_assert(!slot_handle<int>() && slot_handle<int>(0, 1) && slot_handle<int>() == slot_handle<int>(0, 0));
static_assert(slot_handle<int>(1, 9) < slot_handle<int>(2, 1) && slot_handle<int>(1, 1) < slot_handle<int>(1, 2));
static_assert(!std::is_convertible_v<slot_handle<int>, slot_handle<long>>);  // each type has its own
static_assert(!std::is_convertible_v<slot_handle<int>, bool>);

namespace word = ashlar::detail::slot_word;
using ashlar::detail::plain_slot_word;
using ashlar::detail::slot_stack;
using slab = ashlar::detail::slot_slab<ashlar::one_thread>;
using shared_slab = ashlar::detail::slot_slab<ashlar::any_thread<>>;
using ashlar::detail::slot_slab_alignment;

static_assert(sizeof(slab) == sizeof(shared_slab) && alignof(slab) == 64);
static_assert(ashlar::checking_level != ashlar::checking::fast || sizeof(slab) == 128, "two lines");

std::byte* nth_start(std::size_t n) {
  return reinterpret_cast<std::byte*>(std::uintptr_t{slot_slab_alignment} * (n + 100));
}

TEST(slot_slab, headers_of_neighbours_lie_in_different_cache_sets) {
  std::set<std::uintptr_t> offsets;
  for (std::size_t n = 0; n < slab::colours; ++n)
    offsets.insert(ashlar::address_of(slab::in(nth_start(n))) % slot_slab_alignment);
  EXPECT_EQ(offsets.size(), slab::colours);
  EXPECT_LE(*offsets.rbegin(), slab::most_gap);
}

TEST(slot_slab, divides_exactly_and_one_slot_has_all_addresses) {
  alignas(slab) std::byte memory[sizeof(slab)];
  auto* const made = ::new (static_cast<void*>(memory)) slab;
  made->first_slot = nth_start(0);
  for (std::uint32_t bytes = 1; bytes <= slot_slab_alignment / 2; bytes += 1 + bytes / 50) {
    made->factor = slab::factor_for(bytes, 2);
    const std::uint32_t slots = static_cast<std::uint32_t>(slot_slab_alignment) / bytes;
    for (std::uint32_t i = 0; i < slots; i += 1 + slots / 200) {
      ASSERT_EQ(made->index_of(made->first_slot + std::size_t{i} * bytes), i) << bytes;
      ASSERT_EQ(made->index_of(made->first_slot + std::size_t{i} * bytes + bytes - 1), i) << bytes;
    }
  }
  made->factor = slab::factor_for(std::size_t{1} << 30, 1);
  EXPECT_EQ(made->index_of(made->first_slot + 200'000), 0u);
}

TEST(map_generation, of_a_thousand_maps_are_far_apart) {
  std::vector<std::uint32_t> all(1000);
  std::generate(all.begin(), all.end(), &ashlar::detail::next_map_generation);
  std::sort(all.begin(), all.end());
  for (std::size_t i = 1; i < all.size(); ++i) ASSERT_GT(all[i] - all[i - 1], (1u << 29) / 1000);
}

TEST(map_generation, leave_a_slot_half_of_all_generations) {
  for (int i = 0; i < 100'000; ++i) {
    const std::uint32_t first = ashlar::detail::next_map_generation();
    ASSERT_TRUE(first >= 1 && first <= std::uint32_t{1} << 31) << first;
  }
}

// AddressSanitizer has one mark for 8 bytes.
TEST(slot_watch, shared_slots_leave_marks_alone_that_are_their_neighbours_too) {
  alignas(8) std::array<unsigned char, 24> three = {};
  unsigned char* const middle = three.data() + 4;
  ashlar::detail::mark_free(three.data(), 24);
  ashlar::detail::mark_slot<true>(middle, 14, true);
  EXPECT_EQ(ashlar_test::forbidden_bytes(middle, 14), 0U);
  ashlar::detail::mark_slot_free<true>(middle, 14);
  const std::size_t marked = ashlar_test::has_asan ? 8 : 0;
  EXPECT_EQ(ashlar_test::forbidden_bytes(three.data() + 8, 8), marked);
  EXPECT_EQ(ashlar_test::forbidden_bytes(three.data(), 24), marked) << "none beside it";
  ashlar::detail::mark_live(three.data(), 24);
}

TEST(slot_watch, threads_use_neighbouring_objects_that_share_marks) {
  struct object {
    unsigned char bytes[12];
  };
  ashlar::object_pool<object, ashlar_test::object_traits<256, ashlar::construct_on_acquire,
                                                         ashlar::throw_when_exhausted, ashlar::any_thread<>>>
      pool;
  const auto use_some = [&pool] {
    for (int round = 0; round < 100'000; ++round) {
      std::array<object*, 4> mine{};
      for (object*& each : mine) each = pool.acquire();
      for (object* const each : mine) std::memset(each->bytes, round % 256, sizeof(each->bytes));
      for (object* const each : mine) pool.release(each);
    }
  };
  std::array<std::thread, 4> team;
  for (std::thread& each : team) each = std::thread(use_some);
  for (std::thread& each : team) each.join();
  EXPECT_EQ(pool.live(), 0U);
}

constexpr std::uint32_t unwritten = 0xCDCDCDCD;

// A stack with its words, so that a test need not pass them each time.
struct slots_of {
  explicit slots_of(std::uint32_t count) : words(count), capacity(count) {
    for (plain_slot_word& each : words) each.store(unwritten);
  }

  [[nodiscard]] auto at() {
    return [this](std::uint32_t number) -> plain_slot_word& { return words[number]; };
  }
  ashlar::detail::taken_slot take() { return stack.take(capacity, at()); }
  void give(std::uint32_t number, std::uint32_t marks = word::raw_mark) { stack.give(number, marks, at()); }
  [[nodiscard]] bool invariant(bool has_unmarked = false) { return stack.invariant(capacity, at(), has_unmarked); }
  [[nodiscard]] std::vector<std::uint32_t> taken() {
    std::vector<std::uint32_t> numbers;
    stack.for_each_taken(at(), [&](std::uint32_t number) { numbers.push_back(number); });
    return numbers;
  }

  std::vector<plain_slot_word> words;
  std::uint32_t capacity;
  slot_stack stack;
};

TEST(slot_stack, unmarked_slots_are_marked_on_demand) {
  slots_of slots(6);
  for (int i = 0; i < 6; ++i) static_cast<void>(slots.take());
  for (const std::uint32_t number : {1u, 3u, 4u}) slots.give(number);
  EXPECT_EQ(slots.stack.pop_unmarked(slots.at()).number, 4u);
  EXPECT_EQ(slots.stack.pop_unmarked(slots.at()).number, 3u);
  EXPECT_EQ(slots.taken(), (std::vector<std::uint32_t>{0, 2, 5})) << "not yet";
  EXPECT_TRUE(slots.invariant(true));
  EXPECT_FALSE(slots.invariant());
  slots.stack.mark_taken(slots.at());
  EXPECT_EQ(slots.taken(), (std::vector<std::uint32_t>{0, 2, 3, 4, 5}));
  EXPECT_TRUE(slots.invariant());
  EXPECT_EQ(slots.take().number, 1u);
}

TEST(slot_stack, the_invariant_sees_a_cycle_and_a_slot_that_is_lost) {
  slots_of slots(4);
  for (int i = 0; i < 4; ++i) static_cast<void>(slots.take());
  slots.give(0);
  slots.give(1);
  EXPECT_TRUE(slots.invariant());
  slots.words[0].store(word::free_mark | 1);  // 1 -> 0 -> 1
  EXPECT_FALSE(slots.invariant());
  slots.words[0].store(word::free_mark | word::none);
  slots.words[2].store(word::free_mark | word::none);  // free, and on no stack
  EXPECT_FALSE(slots.invariant());
  slots.words[2].store(1);
  slots.words[1].store(1);  // on the stack, and taken
  EXPECT_FALSE(slots.invariant());
}

// A slab of one object is as large as the object, its header and its colour.
TEST(slot_layout, one_object_to_a_slab_wastes_little) {
  struct object {
    std::byte bytes[1 << 20];
  };
  ashlar::object_pool<object, ashlar_test::object_traits<ashlar::growing>> pool;
  std::vector<object*> taken;
  for (int i = 0; i < 10; ++i) taken.push_back(pool.acquire());
  EXPECT_LT(pool.held_bytes(), 10 * (sizeof(object) + 8192));
  for (object* const each : taken) pool.release(each);
}

}  // namespace
