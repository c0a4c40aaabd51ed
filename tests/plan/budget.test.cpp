// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of budgets.
#include <gtest/gtest.h>

#include <atomic>

#include <ashlar/plan/budget.hpp>

namespace {

namespace plan = ashlar::plan;

TEST(budget, ends_after_its_nodes) {
  plan::budget b(2);
  EXPECT_TRUE(b.spend());
  EXPECT_TRUE(b.spend());
  EXPECT_FALSE(b.spend());
  EXPECT_TRUE(b.exhausted());
}

TEST(budget, charges_what_its_slices_spend) {
  plan::budget b(5);
  plan::budget slice = b.slice(3);
  while (slice.spend()) {
  }
  b.charge(slice);
  EXPECT_EQ(b.spent(), 3u);
  EXPECT_FALSE(b.exhausted());
}

TEST(budget, ends_when_told_to) {
  const std::atomic<bool> stop{true};
  EXPECT_TRUE(plan::budget(100, plan::budget::clock::time_point::max(), &stop).exhausted());
}

}  // namespace
