// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of several greedy orders.
#include <gtest/gtest.h>

#include <ashlar/plan/generate.hpp>
#include <ashlar/plan/portfolio.hpp>

namespace {

namespace plan = ashlar::plan;

TEST(portfolio, is_no_worse_than_any_of_its_orders) {
  const plan::model m = plan::make_model(plan::make_shapes(plan::generate_perfect(80, 64, 90, 1, 3)));
  plan::budget allowance(0);
  plan::budget plenty(1000);
  const plan::placement one = plan::best_of_orders(m, 0, 0, allowance);
  const plan::placement best = plan::best_of_orders(m, 0, 9, plenty);
  EXPECT_FALSE(one.offsets.empty()) << "one order is tried whatever the budget";
  for (const plan::order o : plan::all_orders)
    EXPECT_LE(best.height, plan::place_in_order(m, plan::sorted_by(m, o)).height);
}

}  // namespace
