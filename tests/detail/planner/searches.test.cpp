// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the searches: greedy, by descent, by order, by sections, and of pools.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/planner/generate.hpp>
#include <ashlar/detail/planner/greedy.hpp>
#include <ashlar/detail/planner/make_instance.hpp>
#include <ashlar/detail/planner/order_search.hpp>
#include <ashlar/detail/planner/pools.hpp>
#include <ashlar/detail/planner/section_search.hpp>
#include <ashlar/detail/planner/space_planner.hpp>
#include <ashlar/plan/solve.hpp>
#include <ashlar/plan/validate.hpp>

#include "tests/plan/random_problem.hpp"

namespace {

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;
using plan::buffer;

plan::problem three_to_place() {
  return {.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5), buffer::half_open(2, 8, 4, 6)}};
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

TEST(descent, closes_in_on_a_known_optimum) {
  const planner::instance all = planner::make_instance(planner::generate_perfect(50, 64, 60, 4, 5));
  const planner::part whole = planner::whole_of(all);
  planner::budget effort(200'000);
  plan::statistics stats;
  planner::bracket x;
  x.best = planner::place_in_order(whole, planner::sorted_by(whole, planner::order::birth));
  x.bound = 1;  // the search must raise a bound that is too low
  planner::exact_search(whole).descend(x, 1, effort, stats, [](const planner::bracket&) {});
  EXPECT_EQ(x.best.height, 256u);
  EXPECT_GT(stats.nodes, 0u);
}

TEST(descent, lowers_a_bad_placement_window_by_window_and_keeps_it_valid) {
  const plan::problem p = planner::generate_perfect(120, 64, 400, 4, 11);
  const planner::instance all = planner::make_instance(p);
  const planner::part whole = planner::whole_of(all);
  planner::placement now = planner::place_in_order(whole, planner::sorted_by(whole, planner::order::birth));
  const std::uint64_t before = now.height;
  planner::budget effort(60'000);
  plan::statistics stats;
  planner::lower_peaks(whole, now, 256, effort, stats);
  EXPECT_LT(now.height, before);
  plan::layout l;
  l.offsets = now.offsets;
  l.height = now.height;
  EXPECT_FALSE(plan::validate(p, l));
}

using ashlar::tests::every_placement;

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

planner::verdict verdict_of(const plan::problem& p, std::uint64_t capacity, std::uint64_t nodes = 100'000) {
  const planner::instance all = planner::make_instance(p);
  planner::budget effort(nodes);
  return planner::section_search(planner::make_table(planner::whole_of(all)), capacity, effort).run();
}

TEST(section_search, fills_boxes_without_a_byte_to_spare) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    EXPECT_EQ(verdict_of(planner::generate_perfect(40, 60, 60, 16, seed), 960), planner::verdict::fits) << seed;
}

TEST(section_search, fails_where_the_load_alone_would_not) {
  // Two long buffers of 3 and 2 leave holes of 1 that the short ones, 2 each, cannot use.
  const plan::problem p{.buffers = {buffer::half_open(0, 3, 0, 2), buffer::half_open(1, 2, 1, 4),
                                    buffer::half_open(2, 3, 3, 6), buffer::half_open(3, 2, 5, 7),
                                    buffer::half_open(4, 3, 2, 3)}};
  EXPECT_EQ(verdict_of(p, 4), planner::verdict::fails);
  EXPECT_EQ(verdict_of(p, 5), planner::verdict::fits);
}

TEST(section_search, is_undecided_without_a_budget) {
  EXPECT_EQ(verdict_of(planner::generate_perfect(40, 60, 60, 16, 1), 960, 3), planner::verdict::undecided);
}

}  // namespace
