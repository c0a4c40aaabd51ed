// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the bounded supply of slots: for one thread and for any, marked and unmarked, beside a simple oracle.
#include <ashlar/detail/slots/flat_slots.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/slots/allocated_slots.hpp>
#include <ashlar/detail/slots/slot_guard.hpp>
#include <ashlar/detail/slots/slot_run.hpp>
#include <ashlar/detail/slots/slot_word.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

namespace word = ashlar::detail::slot_word;
using ashlar::any_thread;
using ashlar::one_thread;
using ashlar::detail::flat_slots;
using ashlar::detail::taken_place;
using counting = ashlar_test::counting_resource<>;

constexpr std::size_t slots_of_a_run = 17;

template <class Threads>
using word_of =
    std::conditional_t<Threads::is_shared, ashlar::detail::shared_slot_word<>, ashlar::detail::plain_slot_word>;

template <class Threads, bool Marks>
struct inside {
  using type = flat_slots<ashlar::detail::slot_run<24, 8, slots_of_a_run, word_of<Threads>>, Threads, Marks>;
  static constexpr bool marks = Marks;
  static constexpr bool is_shared = Threads::is_shared;
  type slots;
};

template <class Threads, bool Marks>
struct in_a_block {
  using run = ashlar::detail::allocated_slots<24, 8, word_of<Threads>, ashlar::resource_ref<counting>>;
  using type = flat_slots<run, Threads, Marks>;
  static constexpr bool marks = Marks;
  static constexpr bool is_shared = Threads::is_shared;
  counting upstream;
  type slots{std::in_place, slots_of_a_run, ashlar::resource_ref<counting>(upstream)};
};

template <class Kind>
class flat_slots_of : public ::testing::Test {};
using kinds =
    ::testing::Types<inside<one_thread, true>, inside<one_thread, false>, inside<any_thread<>, true>,
                     in_a_block<one_thread, true>, in_a_block<one_thread, false>, in_a_block<any_thread<>, true>>;
TYPED_TEST_SUITE(flat_slots_of, kinds);

std::vector<void*> taken_of(auto& slots) {
  std::vector<void*> all;
  slots.for_each_taken([&](void* slot) { all.push_back(slot); });
  return all;
}

TYPED_TEST(flat_slots_of, hand_out_what_they_have_and_no_more) {
  TypeParam kind;
  std::vector<void*> all;
  while (void* const slot = kind.slots.try_take().slot) all.push_back(slot);
  EXPECT_EQ(all.size(), slots_of_a_run);
  EXPECT_TRUE(kind.slots.is_exhausted());
  EXPECT_EQ(kind.slots.live(), slots_of_a_run);
  EXPECT_EQ(taken_of(kind.slots), all) << "side by side, in the order of addresses";
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(kind.slots.take()), std::bad_alloc);
#endif
  kind.slots.give(all[5], word::raw_mark);
  EXPECT_FALSE(kind.slots.is_exhausted());
  EXPECT_EQ(kind.slots.take().slot, all[5]);
  EXPECT_TRUE(kind.slots.invariant());
}

TYPED_TEST(flat_slots_of, own_their_slots_and_nothing_else) {
  TypeParam kind;
  int outside = 0;
  constexpr std::size_t all_bytes = ashlar::detail::slot_guard<24, 8>::stride * slots_of_a_run;
  auto* const first = static_cast<std::byte*>(kind.slots.take().slot);
  EXPECT_TRUE(kind.slots.owns(first) && kind.slots.owns(first + 23) && kind.slots.owns(first + 24));
  EXPECT_TRUE(kind.slots.owns(first + all_bytes - 1));
  EXPECT_FALSE(kind.slots.owns(first + all_bytes) || kind.slots.owns(first - 1));
  EXPECT_FALSE(kind.slots.owns(&outside) || kind.slots.owns(nullptr));
}

TYPED_TEST(flat_slots_of, what_ends_in_the_end_of_another_waits_its_turn) {
  TypeParam kind;
  std::vector<void*> all;
  for (int i = 0; i < 5; ++i) all.push_back(kind.slots.take().slot);
  std::vector<void*> ended;
  bool within = false;
  const auto end = [&](void* slot) {
    EXPECT_FALSE(std::exchange(within, true)) << "one within the other";
    ended.push_back(slot);
    if (slot == all[0])
      for (int i = 1; i < 4; ++i)
        kind.slots.destroy_iteratively(all[static_cast<std::size_t>(i)], [](void*) {
          ADD_FAILURE() << "the outer one ends it";
          return std::uint32_t{0};
        });
    within = false;
    return word::raw_mark;
  };
  kind.slots.destroy_iteratively(all[0], end);
  EXPECT_EQ(ended, (std::vector<void*>{all[0], all[3], all[2], all[1]}));
  EXPECT_EQ(kind.slots.live(), 1u);
  EXPECT_TRUE(kind.slots.invariant());
}

TYPED_TEST(flat_slots_of, two_supplies_end_within_each_other) {
  TypeParam one;
  TypeParam other;
  void* const in_one = one.slots.take().slot;
  void* const second = one.slots.take().slot;
  void* const in_other = other.slots.take().slot;
  int ended = 0;
  one.slots.destroy_iteratively(in_one, [&](void* slot) {
    ++ended;
    if (slot == in_one)
      other.slots.destroy_iteratively(in_other, [&](void*) {
        ++ended;
        one.slots.destroy_iteratively(second, [](void*) { return word::raw_mark; });  // the outer call is still running
        return word::raw_mark;
      });
    return word::raw_mark;
  });
  EXPECT_EQ(ended, 3);
  EXPECT_EQ(one.slots.live() + other.slots.live(), 0u);
}

// The oracle: the used free slots as a vector, the next one at its end.
template <class Kind>
class walk {
public:
  explicit walk(unsigned seed) : random_(seed) {}

  void step() {
    const unsigned what = random_() % 16;
    if (what < 8) take();
    else if (what < 15 && !taken_.empty()) give();
    else compare();
  }

private:
  void take() {
    if constexpr (Kind::is_shared)
      if (free_.empty()) free_ = std::exchange(inbox_, {});
    const taken_place got = kind_.slots.try_take();
    if (free_.empty()) {
      ASSERT_EQ(got.slot != nullptr, used_ < slots_of_a_run);
      used_ += got.slot != nullptr ? 1 : 0;
    } else {
      ASSERT_EQ(got.slot, free_.back().slot);
      ASSERT_EQ(got.is_raw, free_.back().is_raw);
      free_.pop_back();
    }
    if (got.slot != nullptr) taken_.push_back(got.slot);
  }

  void give() {
    const auto at = taken_.begin() + static_cast<std::ptrdiff_t>(random_() % taken_.size());
    const bool raw = !Kind::marks || random_() % 2 == 0;
    kind_.slots.give(*at, raw ? word::raw_mark : 0);
    (Kind::is_shared ? inbox_ : free_).push_back({*at, raw});
    taken_.erase(at);
  }

  void compare() {
    std::sort(taken_.begin(), taken_.end());
    ASSERT_EQ(taken_of(kind_.slots), taken_);
    ASSERT_EQ(kind_.slots.live(), taken_.size());
    ASSERT_EQ(kind_.slots.is_exhausted(), taken_.size() == slots_of_a_run);
    ASSERT_TRUE(kind_.slots.invariant());
  }

  Kind kind_;
  std::mt19937 random_;
  std::size_t used_ = 0;
  std::vector<taken_place> free_;
  std::vector<taken_place> inbox_;
  std::vector<void*> taken_;
};

TYPED_TEST(flat_slots_of, do_as_a_vector_would) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    walk<TypeParam> each(seed);
    for (int step = 0; step < 1000 && !::testing::Test::HasFailure(); ++step) each.step();
  }
}

TEST(flat_slots, kept_slots_are_visited_once) {
  inside<one_thread, true> kind;
  std::vector<void*> all;
  for (int i = 0; i < 4; ++i) all.push_back(kind.slots.take().slot);
  kind.slots.give(all[1], 0);
  kind.slots.give(all[2], word::raw_mark);
  kind.slots.give(all[3], 0);
  std::vector<void*> kept;
  for (int again = 0; again < 2; ++again) kind.slots.for_each_kept([&](void* slot) { kept.push_back(slot); });
  EXPECT_EQ(kept, (std::vector<void*>{all[1], all[3]}));
  EXPECT_TRUE(kind.slots.take().is_raw);
}

TEST(flat_slots, of_one_thread_cost_two_numbers_and_a_pointer) {
  if constexpr (!ashlar_test::is_checked && !ashlar::detail::marks_memory)
    EXPECT_EQ(
        sizeof(flat_slots<ashlar::detail::slot_run<64, 8, 100, ashlar::detail::plain_slot_word>, one_thread, false>),
        100u * 68 + 8 + sizeof(void*));
  else EXPECT_FALSE((std::is_move_constructible_v<inside<one_thread, true>::type>));
}

TEST(flat_slots, reserve_opens_and_failure_leaves_nothing) {
  in_a_block<one_thread, true> kind;
  kind.upstream.fail_at(0);
  EXPECT_EQ(kind.slots.try_take().slot, nullptr);
  kind.slots.reserve();
  kind.slots.reserve();
  EXPECT_EQ(kind.upstream.allocations(), 1u);
  kind.upstream.fail_from(0);
  for (std::size_t i = 0; i < slots_of_a_run; ++i) EXPECT_NE(kind.slots.try_take().slot, nullptr);
}

}  // namespace
