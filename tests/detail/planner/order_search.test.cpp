// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the search over orders of pairs, against every possible placement.
#include <gtest/gtest.h>

#include <cstdint>

#include <ashlar/detail/planner/make_instance.hpp>
#include <ashlar/detail/planner/order_search.hpp>
#include <ashlar/plan/solve.hpp>
#include <ashlar/plan/validate.hpp>

#include "tests/plan/random_problem.hpp"

namespace {

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;
using ashlar::tests::every_placement;
using plan::buffer;

/// The first keeps only its upper half while the second lives: there is room beneath.
plan::problem with_room_beneath() {
  plan::problem p{.buffers = {buffer::half_open(0, 8, 0, 6), buffer::half_open(1, 4, 2, 4)}};
  p.gaps.push_back({0, 2, 4, 4, 8});
  return p;
}

TEST(order_search, puts_a_buffer_beneath_a_window) {
  const planner::instance all = planner::make_instance(with_room_beneath());
  const planner::part whole = planner::whole_of(all);
  planner::budget effort(100);
  planner::order_search search(whole, 8, effort);
  EXPECT_EQ(search.run(), planner::verdict::fits);
  EXPECT_EQ(search.offset(0), 0u);
  EXPECT_EQ(search.offset(1), 0u);
}

TEST(order_search, gives_up_with_its_budget) {
  plan::problem p;
  for (std::uint64_t i = 0; i < 12; ++i) p.buffers.push_back(buffer::half_open(i, 5 + i, 0, 3));
  const planner::instance all = planner::make_instance(p);
  const planner::part whole = planner::whole_of(all);
  planner::budget effort(5);
  EXPECT_EQ(planner::order_search(whole, 1000, effort).run(), planner::verdict::undecided);
}

TEST(order_search, proves_optima_that_the_load_does_not) {
  planner::splitmix random(9);
  std::uint64_t above_the_load = 0;
  for (int k = 0; k < 300; ++k) {
    plan::problem p = ashlar::tests::random_problem(random, 4, 5, 5, k % 4 == 0);
    for (plan::position i = 0; i < p.buffers.size(); ++i) {
      const buffer& b = p.buffers[i];
      if (b.death - b.birth < 2 || b.size < 2) continue;
      const std::uint64_t at = b.birth + random.below(b.death - b.birth), low = random.below(b.size);
      p.gaps.push_back({i, at, at + 1, low, low + random.below(b.size - low + 1)});
    }
    const plan::layout l = plan::solve(p, {.effort = plan::effort::exact});
    ASSERT_TRUE(l.optimal()) << k;
    ASSERT_FALSE(plan::validate(p, l)) << k;
    ASSERT_TRUE(every_placement(p, l.height).any()) << k;
    ASSERT_FALSE(every_placement(p, l.height - 1).any()) << k;
    above_the_load += l.proof == plan::proof::exhaustion;
  }
  EXPECT_GT(above_the_load, 10u);
}

}  // namespace
