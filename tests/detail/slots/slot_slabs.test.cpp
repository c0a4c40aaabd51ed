// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of taking slots: their order, the requests to the upstream, and the memory that it gets back.
#include <ashlar/detail/slots/slot_slabs.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/threads.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/slot_user.hpp"

namespace {

using ashlar::any_thread;
using ashlar::null_lock;
using ashlar::one_thread;
using ashlar_test::counting_resource;
using ashlar_test::give_back;
using ashlar_test::nothing;
using ashlar_test::test_slots;

template <class Threads>
class slot_slabs : public ::testing::Test {
protected:
  using slots_type = test_slots<Threads>;
  using place = typename slots_type::place;

  std::vector<place> take(slots_type& from, std::size_t count) {
    std::vector<place> taken(count);
    for (place& each : taken) each = from.take();
    return taken;
  }
  static void give(const std::vector<place>& all) {
    for (const place& each : all) give_back(each);
  }

  counting_resource<> upstream;
};
using policies = ::testing::Types<one_thread, any_thread<>, any_thread<null_lock>>;
TYPED_TEST_SUITE(slot_slabs, policies);

TYPED_TEST(slot_slabs, allocates_nothing_before_the_first_slot) {
  typename TestFixture::slots_type slots({}, this->upstream);
  EXPECT_EQ(slots.capacity(), 0u);
  EXPECT_EQ(slots.live(), 0u);
  EXPECT_EQ(slots.trim(), 0u);
  EXPECT_FALSE(slots.owns(this));
  EXPECT_TRUE(slots.invariant());
  EXPECT_EQ(this->upstream.allocations(), 0u);
}

TYPED_TEST(slot_slabs, hands_each_slot_out_once_and_the_latest_first) {
  typename TestFixture::slots_type slots({}, this->upstream);
  auto taken = this->take(slots, 1000);
  std::set<void*> all;
  for (const auto& each : taken) {
    all.insert(each.memory());
    EXPECT_TRUE(each.is_raw);
    EXPECT_EQ(each.in->word_at(each.index).load(), 1u);
    EXPECT_TRUE(slots.owns(each.memory()));
  }
  EXPECT_EQ(all.size(), 1000u);
  EXPECT_EQ(slots.live(), 1000u);
  give_back(taken.back());
  EXPECT_EQ(slots.live(), 999u);
  const auto again = slots.take();
  EXPECT_EQ(again.memory(), taken.back().memory());
  this->give(taken);
  EXPECT_EQ(slots.live(), 0u);
  EXPECT_TRUE(slots.invariant());
}

TYPED_TEST(slot_slabs, tells_whether_an_object_was_kept) {
  typename TestFixture::slots_type slots({}, this->upstream);
  auto at = slots.take();
  give_back(at, 0);
  at = slots.take();
  EXPECT_FALSE(at.is_raw);
  give_back(at);
  at = slots.take();
  EXPECT_TRUE(at.is_raw);
  give_back(at);
}

TYPED_TEST(slot_slabs, grows_by_steps) {
  typename TestFixture::slots_type slots({.growth_count = 16}, this->upstream);
  const auto taken = this->take(slots, 100);
  EXPECT_EQ(slots.capacity(), 112u);
  EXPECT_EQ(slots.growth_steps(), 7u);
  EXPECT_LT(this->upstream.balance().bytes, 150u * 1024);
  this->give(taken);
}

TYPED_TEST(slot_slabs, a_step_may_be_many_slabs) {
  typename TestFixture::slots_type slots({.growth_count = 1000}, this->upstream);
  give_back(slots.take());
  EXPECT_GE(slots.capacity(), 1000u);
  EXPECT_EQ(slots.growth_steps(), 1u);
  EXPECT_TRUE(slots.invariant());
}

TYPED_TEST(slot_slabs, a_bound_is_a_bound) {
  typename TestFixture::slots_type slots({.max_count = 3}, this->upstream);
  auto taken = this->take(slots, 3);
  EXPECT_EQ(slots.capacity(), 3u);
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(slots.take());
  EXPECT_FALSE(slots.try_take());
  give_back(taken[1]);
  taken[1] = slots.take();
  EXPECT_TRUE(taken[1]);
  EXPECT_FALSE(slots.take());
  this->give(taken);
}

TYPED_TEST(slot_slabs, what_was_reserved_needs_no_upstream) {
  typename TestFixture::slots_type slots({}, this->upstream);
  slots.reserve(5000);
  const std::size_t before = this->upstream.allocations();
  const auto taken = this->take(slots, slots.capacity());
  EXPECT_GE(taken.size(), 5000u);
  EXPECT_EQ(this->upstream.allocations(), before);
  give_back(slots.take());
  EXPECT_GT(this->upstream.allocations(), before);
  this->give(taken);
}

TYPED_TEST(slot_slabs, small_steps_need_few_slabs) {
  typename TestFixture::slots_type slots({.growth_count = 16}, this->upstream);
  std::vector<typename TestFixture::place> taken;
  for (std::size_t steps = 1; steps <= 60; ++steps) {
    for (int i = 0; i < 16; ++i) taken.push_back(slots.take());
    ASSERT_EQ(slots.growth_steps(), steps);
    ASSERT_EQ(slots.capacity(), 16 * steps);
    ASSERT_TRUE(slots.invariant());
  }
  EXPECT_LE(this->upstream.allocations(), 10u);
  this->give(taken);
  EXPECT_EQ(slots.live(), 0u);
  EXPECT_TRUE(slots.invariant());
}

TYPED_TEST(slot_slabs, a_slab_that_has_room_left_serves_after_frees_too) {
  typename TestFixture::slots_type slots({.growth_count = 3}, this->upstream);
  auto taken = this->take(slots, 20);
  for (int round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < 5; ++i) {
      give_back(taken.front());
      taken.erase(taken.begin());
    }
    for (int i = 0; i < 6; ++i) taken.push_back(slots.take());
    ASSERT_EQ(slots.live(), taken.size());
    ASSERT_LE(slots.capacity(), taken.size() + 3);
    ASSERT_TRUE(slots.invariant());
  }
  this->give(taken);
}

TYPED_TEST(slot_slabs, empty_slabs_go_back) {
  using single_slots = test_slots<TypeParam, 130 * 1024>;  // one for each slab
  single_slots slots({}, this->upstream);
  std::vector<typename single_slots::place> taken(70);  // more slabs than the directory itself has entries
  for (auto& each : taken) each = slots.take();
  for (std::size_t i = 0; i < taken.size(); ++i)
    if (i != 5) give_back(taken[i]);
  EXPECT_GT(slots.trim(), 69u * 130 * 1024);
  EXPECT_EQ(slots.capacity(), 1u);
  EXPECT_TRUE(slots.invariant());
  for (auto& each : taken)
    if (&each != &taken[5]) each = slots.take();  // takes vacant numbers
  EXPECT_TRUE(slots.invariant());
  for (const auto& each : taken) give_back(each);
  static_cast<void>(slots.trim());
  EXPECT_EQ(slots.capacity(), 0u);
  EXPECT_TRUE(slots.invariant());
  give_back(slots.take());
}

TYPED_TEST(slot_slabs, visits_what_is_taken) {
  typename TestFixture::slots_type slots({}, this->upstream);
  const auto taken = this->take(slots, 600);
  std::set<void*> expected;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (i % 3 == 0) give_back(taken[i]);
    else expected.insert(taken[i].memory());
  }
  std::set<void*> seen;
  slots.for_each_live([&](auto& slab, std::uint32_t index) { seen.insert(slab.slot_at(index)); });
  EXPECT_EQ(seen, expected);
  for (std::size_t i = 0; i < taken.size(); ++i)
    if (i % 3 != 0) give_back(taken[i]);
}

TYPED_TEST(slot_slabs, survives_an_upstream_that_fails_at_any_call) {
  for (std::size_t k = 0; k < 100; ++k) {
    counting_resource<> failing;
    typename TestFixture::slots_type slots({.growth_count = 1}, failing);
    std::vector<typename TestFixture::place> taken;
    failing.fail_at(k);
    for (int i = 0; i < 70; ++i)
      if (const auto at = slots.try_take()) taken.push_back(at);
    const bool is_done = failing.refusals() == 0;
    EXPECT_EQ(taken.size(), is_done ? 70u : 69u);
    EXPECT_TRUE(slots.invariant());
    failing.fail_never();
    taken.push_back(slots.take());
    EXPECT_EQ(slots.live(), taken.size());
    this->give(taken);
    if (is_done) return;
  }
  FAIL() << "never got through";
}

#if defined(__cpp_exceptions)
TYPED_TEST(slot_slabs, passes_on_what_the_upstream_throws) {
  typename TestFixture::slots_type slots({.growth_count = 4}, this->upstream);
  this->upstream.fail_from(0);
  EXPECT_ANY_THROW(static_cast<void>(slots.take()));
  this->upstream.fail_never();
  const auto taken = this->take(slots, 4);
  this->upstream.fail_from(0);
  EXPECT_ANY_THROW(static_cast<void>(slots.take()));
  EXPECT_ANY_THROW(slots.reserve(5));
  EXPECT_TRUE(slots.invariant());
  this->upstream.fail_never();
  this->give(taken);
}
#endif

TYPED_TEST(slot_slabs, serves_a_random_program) {
  typename TestFixture::slots_type slots({.growth_count = 20}, this->upstream);
  std::mt19937 random(7);
  std::vector<typename TestFixture::place> taken;
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t which = taken.empty() ? 0 : random() % taken.size();
    if (taken.size() < 500 && random() % 2 == 0) {
      taken.push_back(slots.take());
    } else if (!taken.empty()) {
      give_back(taken[which]);
      taken[which] = taken.back();
      taken.pop_back();
    }
    if (i % 1000 == 0) {
      static_cast<void>(slots.trim());
      ASSERT_TRUE(slots.invariant());
      ASSERT_EQ(slots.live(), taken.size());
    }
  }
  this->give(taken);
  static_cast<void>(slots.trim());
  EXPECT_EQ(slots.capacity(), 0u);
}

TYPED_TEST(slot_slabs, serves_one_object_to_a_slab) {
  test_slots<TypeParam, 1 << 20> slots({}, this->upstream);
  std::vector<typename test_slots<TypeParam, 1 << 20>::place> taken(10);
  for (auto& each : taken) each = slots.take();
  EXPECT_EQ(slots.capacity(), 10u);
  EXPECT_LT(this->upstream.balance().bytes, 10u * ((1 << 20) + 8192));
  for (const auto& each : taken) give_back(each);
  EXPECT_TRUE(slots.invariant());
}

}  // namespace
