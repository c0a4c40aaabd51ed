// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of exact searches at closer capacities.
#include <gtest/gtest.h>

#include <ashlar/plan/generate.hpp>
#include <ashlar/plan/order.hpp>
#include <ashlar/plan/refine.hpp>

namespace {

namespace plan = ashlar::plan;

TEST(refine, closes_in_on_a_known_optimum) {
  const plan::model m = plan::make_model(plan::make_shapes(plan::generate_perfect(50, 64, 60, 4, 5)));
  plan::budget allowance(200'000);
  plan::statistics stats;
  plan::interval x;
  x.best = plan::place_in_order(m, plan::sorted_by(m, plan::order::birth));
  x.bound = 1;  // a careless bound is raised by search alone
  plan::refiner(m).descend(x, 1, allowance, stats, [](const plan::interval&) {});
  EXPECT_EQ(x.best.height, 256u);
  EXPECT_GT(stats.nodes, 0u);
}

}  // namespace
