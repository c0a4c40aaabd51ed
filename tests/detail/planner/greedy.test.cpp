// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of greedy placement: orders, pins, wishes, and from the bottom up.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <ashlar/detail/planner/generate.hpp>
#include <ashlar/detail/planner/greedy.hpp>
#include <ashlar/detail/planner/make_instance.hpp>
#include <ashlar/plan/validate.hpp>

#include "tests/plan/random_problem.hpp"

namespace {

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;
using plan::buffer;

plan::problem three_to_place() {
  return {.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5), buffer::half_open(2, 8, 4, 6)}};
}

TEST(greedy, sorts_each_way) {
  const planner::instance all = planner::make_instance(three_to_place());
  const planner::part whole = planner::whole_of(all);
  EXPECT_EQ(planner::sorted_by(whole, planner::order::size), (std::vector<std::uint32_t>{0, 2, 1}));
  EXPECT_EQ(planner::sorted_by(whole, planner::order::life), (std::vector<std::uint32_t>{1, 0, 2}));
  for (const planner::order o : planner::all_orders) EXPECT_EQ(planner::sorted_by(whole, o).size(), 3u) << name_of(o);
}

TEST(greedy, places_pins_first_and_the_rest_as_low_as_it_goes) {
  plan::problem problem = three_to_place();
  problem.pins.push_back({1, 4});
  const planner::instance all = planner::make_instance(problem);
  const planner::placement p = planner::place_in_order(planner::whole_of(all), {0, 1, 2});
  EXPECT_EQ(p.offsets, (std::vector<std::uint64_t>{10, 4, 10}));
  EXPECT_EQ(p.height, 20u);
}

TEST(greedy, finds_collisions_of_pins) {
  plan::problem p{.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 10, 2, 4)}};
  p.pins = {{0, 0}, {1, 9}};
  const planner::instance colliding = planner::make_instance(p);
  EXPECT_TRUE(planner::pins_collide(planner::whole_of(colliding)));
  p.pins[1].offset = 10;
  const planner::instance apart = planner::make_instance(p);
  EXPECT_FALSE(planner::pins_collide(planner::whole_of(apart)));
}

TEST(greedy, is_no_worse_than_any_of_its_orders) {
  const planner::instance all = planner::make_instance(planner::generate_perfect(80, 64, 90, 1, 3));
  const planner::part whole = planner::whole_of(all);
  planner::budget effort(0);
  planner::budget plenty(1000);
  const planner::placement one = planner::best_of_orders(whole, 0, 0, effort);
  const planner::placement best = planner::best_of_orders(whole, 0, 9, plenty);
  EXPECT_FALSE(one.offsets.empty()) << "one order is tried whatever the budget";
  for (const planner::order o : planner::all_orders)
    EXPECT_LE(best.height, planner::place_in_order(whole, planner::sorted_by(whole, o)).height);
}

TEST(greedy, places_validly_from_below) {
  planner::splitmix random(8);
  for (int k = 0; k < 100; ++k) {
    plan::problem p = ashlar::tests::random_problem(random, 30, 12, 20, k % 2 == 0);
    if (p.buffers[0].death - p.buffers[0].birth > 2 && p.buffers[0].size > 1)
      p.gaps.push_back({0, p.buffers[0].birth + 1, p.buffers[0].birth + 2, 1, p.buffers[0].size});
    const planner::instance all = planner::make_instance(p);
    planner::budget effort(1000);
    const planner::placement found = planner::place_from_below(planner::whole_of(all), planner::order::area, effort);
    plan::layout l;
    l.offsets = found.offsets;
    l.height = found.height;
    ASSERT_FALSE(plan::validate(p, l)) << k;
  }
}

TEST(greedy, gives_up_with_its_budget) {
  const planner::instance all = planner::make_instance(planner::generate_random(5000, 1));
  planner::budget effort(0);
  EXPECT_TRUE(planner::place_from_below(planner::whole_of(all), planner::order::area, effort).offsets.empty());
}

TEST(greedy, stays_close_to_wishes_that_fit_and_moves_the_others) {
  const planner::instance all = planner::make_instance(three_to_place());
  const planner::placement kept = planner::stay_close(planner::whole_of(all), {6, 0, 3}, 16);
  EXPECT_EQ(kept.offsets, (std::vector<std::uint64_t>{6, 16, 3}));
}

}  // namespace
