// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of several pools: first fit, and every assignment.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <ashlar/detail/planner/make_instance.hpp>
#include <ashlar/detail/planner/pools.hpp>
#include <ashlar/detail/planner/splitmix.hpp>
#include <ashlar/plan/solve.hpp>
#include <ashlar/plan/validate.hpp>

#include "tests/plan/random_problem.hpp"

namespace {

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;
using ashlar::tests::every_placement;
using plan::buffer;

TEST(pools, sees_items_and_loads_that_no_pool_can_hold) {
  const planner::instance all =
      planner::make_instance({.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5)}});
  const planner::part whole = planner::whole_of(all);
  EXPECT_TRUE(planner::pools_overloaded(whole, {{9}, {9}}));
  EXPECT_TRUE(planner::pools_overloaded(whole, {{10}, {5}}));
  EXPECT_FALSE(planner::pools_overloaded(whole, {{10}, {6}}));
  EXPECT_EQ(planner::assign_pools(whole, {{6}, {10}}).pools, (std::vector<std::uint32_t>{1, 0}));
}

TEST(pools, divides_what_first_fit_cannot) {
  // 6 + 5 + 5 and 4 + 4 + 4 + 4 fill two pools of 16; the largest first would not.
  plan::problem p;
  for (const std::uint64_t size : {6u, 5u, 5u, 4u, 4u, 4u, 4u})
    p.buffers.push_back(plan::buffer::half_open(p.buffers.size(), size, 0, 1));
  p.pools = {{16}, {16}};
  const plan::layout l = plan::solve(p);
  EXPECT_EQ(l.status, plan::status::feasible);
  EXPECT_FALSE(plan::validate(p, l));
}

TEST(pools, gives_up_with_its_budget) {
  plan::problem p;
  for (std::uint64_t i = 0; i < 9; ++i) p.buffers.push_back(plan::buffer::half_open(i, 7, 0, 1));
  p.pools = {{20}, {20}, {23}};
  EXPECT_EQ(plan::solve(p, {.nodes = 3}).status, plan::status::unknown);
  EXPECT_EQ(plan::solve(p).status, plan::status::infeasible);
}

TEST(pools, proves_what_does_not_fit) {
  planner::splitmix random(4);
  std::uint64_t proved = 0, fitted = 0;
  for (int k = 0; k < 1200; ++k) {
    plan::problem p = ashlar::tests::random_problem(random, 5, 4, 5, k % 4 == 0);
    p.pools = {{3 + random.below(4)}, {3 + random.below(4)}};
    p.pool_masks.push_back({0, 1 + random.below(3)});
    if (k % 5 == 0) p.pins.push_back({0, random.below(3) * p.buffers[0].alignment});
    const plan::layout l = plan::solve(p, {.effort = plan::effort::exact});
    const bool fits = every_placement(p, 0).any();
    ASSERT_EQ(l.status, fits ? plan::status::feasible : plan::status::infeasible) << k;
    if (fits) {
      ASSERT_FALSE(plan::validate(p, l)) << k;
    }
    fitted += fits;
    proved += l.proof == plan::proof::exhaustion;
  }
  EXPECT_GT(proved, 20u);
  EXPECT_GT(fitted, 20u);
}

}  // namespace
