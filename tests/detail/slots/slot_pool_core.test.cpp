// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the ways of a returned slot: to its slab, to the inbox, or to the end of the pool, and of the core's part.
#include <ashlar/detail/slots/slot_pool_core.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/threads.hpp>
#include <ashlar/face/object_pool_options.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/slot_user.hpp"

namespace {

using ashlar::any_thread;
using ashlar::one_thread;
using ashlar_test::give_back;
using ashlar_test::nothing;
using ashlar_test::test_slots;

template <class Threads>
class slot_pool_core : public ::testing::Test {};
using policies = ::testing::Types<one_thread, any_thread<>>;
TYPED_TEST_SUITE(slot_pool_core, policies);

TYPED_TEST(slot_pool_core, finds_slots_by_number) {
  ashlar_test::counting_resource<> upstream;
  test_slots<TypeParam> slots({}, upstream);
  std::vector<typename test_slots<TypeParam>::place> taken(1000);
  for (auto& each : taken) each = slots.take();
  for (const auto& each : taken) {
    const auto found = each.in->home->find(each.in->first_number + each.index);
    EXPECT_EQ(&found.slab, each.in);
    EXPECT_EQ(found.index, each.index);
  }
  for (const auto& each : taken) give_back(each);
}

TYPED_TEST(slot_pool_core, is_told_when_a_slab_is_no_longer_full) {
  ashlar_test::counting_resource<> upstream;
  test_slots<TypeParam> slots({.growth_count = 4}, upstream);
  std::vector<typename test_slots<TypeParam>::place> taken(12);
  for (auto& each : taken) each = slots.take();
  EXPECT_EQ(slots.capacity(), 12u);
  give_back(taken[1]);
  give_back(taken[9]);
  EXPECT_TRUE(slots.invariant());
  const auto first = slots.take();  // from the current slab
  const auto second = slots.take();
  EXPECT_EQ(first.memory(), taken[9].memory());
  EXPECT_EQ(second.memory(), taken[1].memory());
  EXPECT_EQ(slots.capacity(), 12u);
  taken[9] = first;
  taken[1] = second;
  for (const auto& each : taken) give_back(each);
  EXPECT_TRUE(slots.invariant());
}

TYPED_TEST(slot_pool_core, whoever_gives_the_last_slot_ends_it) {
  for (const std::size_t order : {0u, 1u, 2u}) {
    ashlar_test::counting_resource<> upstream;
    std::optional<test_slots<TypeParam>> slots;
    slots.emplace(ashlar::object_pool_options{.growth_count = 2}, upstream);
    std::vector<typename test_slots<TypeParam>::place> taken(3);
    for (auto& each : taken) each = slots->take();
    for (std::size_t i = 0; i < order; ++i) give_back(taken[i]);
    slots.reset();
    for (std::size_t i = order; i < taken.size(); ++i) {
      EXPECT_NE(upstream.balance(), nothing);
      give_back(taken[i]);
    }
    EXPECT_EQ(upstream.balance(), nothing);
  }
}

}  // namespace
