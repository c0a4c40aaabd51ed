// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of slots in slabs, found by address: large and small ones, kept objects, remaining ones.
#include <ashlar/detail/slots/growing_slots.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/bits.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/fail_each_allocation.hpp"

namespace {

namespace word = ashlar::detail::slot_word;
using counting = ashlar_test::counting_resource<>;
using counting_ref = ashlar::resource_ref<counting>;

struct counts_destroyed {
  static inline int destroyed = 0;
  void operator()(void*) const noexcept { ++destroyed; }
};

template <std::size_t Bytes, std::size_t Alignment, bool Keeps = false, class Threads = ashlar::one_thread>
using slots_of = ashlar::detail::growing_slots<Bytes, Alignment, Threads, counting_ref, Keeps, counts_destroyed>;

template <std::size_t Bytes, std::size_t Alignment>
void expect_own_slots(std::size_t count) {
  counting upstream;
  slots_of<Bytes, Alignment> slots(std::in_place, {}, counting_ref(upstream));
  std::set<void*> all;
  for (std::size_t i = 0; i < count; ++i) {
    void* const slot = slots.take().slot;
    EXPECT_TRUE(ashlar::detail::is_aligned(slot, Alignment));
    EXPECT_TRUE(slots.owns(slot));
    EXPECT_TRUE(all.insert(slot).second);
    if constexpr (ashlar::checking_level >= ashlar::checking::checked) slots.check(slot);
  }
  EXPECT_EQ(slots.live(), count);
  for (void* const slot : all) slots.give(slot, word::raw_mark);
  EXPECT_EQ(slots.live(), 0u);
  EXPECT_TRUE(slots.invariant());
}

TEST(growing_slots, of_all_sizes_are_distinct_and_aligned) {
  expect_own_slots<1, 1>(100);
  expect_own_slots<4, 4>(100);
  expect_own_slots<24, 8>(20'000);
  expect_own_slots<512, 256>(2000);
  expect_own_slots<200'000, 8>(5);
  expect_own_slots<1 << 20, 4096>(5);
}

TEST(growing_slots, kept_objects_are_destroyed_with_their_slab) {
  counting upstream;
  counts_destroyed::destroyed = 0;
  {
    slots_of<16, 8, true> slots(std::in_place, {.growth_count = 4}, counting_ref(upstream));
    std::vector<void*> all;
    for (int i = 0; i < 8; ++i) all.push_back(slots.take().slot);
    for (std::size_t i = 0; i < 8; ++i) slots.give(all[i], i % 2 == 0 ? 0 : word::raw_mark);
    EXPECT_EQ(counts_destroyed::destroyed, 0);
    slots.trim();
    EXPECT_EQ(counts_destroyed::destroyed, 4);
    slots.give(slots.take().slot, 0);
  }
  EXPECT_EQ(counts_destroyed::destroyed, 5);
}

TEST(growing_slots, at_their_limit_say_so) {
  counting upstream;
  slots_of<16, 8> slots(std::in_place, {.max_count = 3}, counting_ref(upstream));
  std::vector<void*> all;
  for (int i = 0; i < 3; ++i) all.push_back(slots.take().slot);
  EXPECT_TRUE(slots.is_exhausted());
  EXPECT_EQ(slots.try_take().slot, nullptr);
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(slots.take()), std::bad_alloc);
#endif
  for (void* const slot : all) slots.give(slot, word::raw_mark);
}

TEST(growing_slots, survive_each_failure_of_the_upstream) {
  struct owned {
    explicit owned(counting& upstream) : slots(std::in_place, {.growth_count = 2}, counting_ref(upstream)) {}
    [[nodiscard]] bool invariant() const { return slots.invariant(); }
    slots_of<16, 8> slots;
  };
  ashlar_test::fail_each_allocation([](counting& upstream) { return owned(upstream); },
                                    [](owned& object) {
                                      std::vector<void*> all;
                                      for (int i = 0; i < 7; ++i)
                                        if (void* const slot = object.slots.try_take().slot) all.push_back(slot);
                                      for (void* const slot : all) object.slots.give(slot, word::raw_mark);
                                      return all.size() == 7;
                                    });
}

}  // namespace
