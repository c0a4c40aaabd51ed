// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the heap of regions against std::set.
#include <ashlar/detail/support/address_heap.hpp>

#include <algorithm>
#include <cstddef>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace {

struct region : ashlar::detail::heap_node<region> {};
using heap = ashlar::detail::address_heap<region>;

TEST(address_heap, an_empty_heap_has_no_top) {
  const heap none;
  EXPECT_TRUE(none.empty() && none.invariant());
  EXPECT_EQ(none.top(), nullptr);
  EXPECT_EQ(none.size(), 0u);
}

TEST(address_heap, hands_out_the_lowest_first_for_any_order_of_arrival) {
  std::vector<region> regions(200);
  std::vector<region*> order;
  for (region& each : regions) order.push_back(&each);
  std::mt19937 random(1);
  for (int arrival = 0; arrival < 10; ++arrival) {
    heap lowest_first;
    for (region* const each : order) lowest_first.push(each);
    ASSERT_EQ(lowest_first.size(), regions.size());
    for (region& each : regions) {
      ASSERT_TRUE(lowest_first.invariant());
      ASSERT_EQ(lowest_first.top(), &each);
      lowest_first.erase(&each);
    }
    EXPECT_TRUE(lowest_first.empty());
    if (arrival == 0) std::ranges::reverse(order);
    else std::ranges::shuffle(order, random);
  }
}

TEST(address_heap, behaves_as_a_set) {
  std::vector<region> regions(300);
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    heap real;
    std::set<region*> oracle;
    for (int step = 0; step < 2000; ++step) {
      region* const any = &regions[random() % regions.size()];
      if (!oracle.contains(any)) real.push(any), oracle.insert(any);
      else if (random() % 3 == 0) real.erase(real.top()), oracle.erase(oracle.begin());
      else real.erase(any), oracle.erase(any);
      ASSERT_EQ(real.top(), oracle.empty() ? nullptr : *oracle.begin());
      if (step % 50 == 0) {
        ASSERT_TRUE(real.invariant() && real.size() == oracle.size());
      }
    }
    for (region* const each : oracle) real.erase(each);
    EXPECT_TRUE(real.empty());
    for (const region& each : regions) EXPECT_TRUE(!each.child && !each.sibling && !each.previous);
  }
}

TEST(address_heap, the_invariant_sees_a_member_below_its_parent_and_a_broken_link) {
  std::vector<region> regions(3);
  heap real;
  for (region& each : regions) real.push(&each);
  ASSERT_TRUE(real.invariant());
  std::swap(regions[0].child->previous, regions[1].sibling);
  EXPECT_FALSE(real.invariant());
}

}  // namespace
