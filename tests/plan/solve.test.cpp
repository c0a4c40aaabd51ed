// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the planner: known optima, constraints, budgets, and random problems against an exhaustive search.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <ashlar/detail/planner/generate.hpp>
#include <ashlar/plan/csv.hpp>
#include <ashlar/plan/solve.hpp>
#include <ashlar/plan/validate.hpp>

#include "tests/plan/random_problem.hpp"
#include "tests/support/build.hpp"

namespace {

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;
using ashlar::tests::exhaustive;
using plan::buffer;

plan::problem two_apart_in_time() {
  return {.buffers = {buffer::half_open(0, 10, 0, 2), buffer::half_open(1, 10, 2, 4)}};
}

plan::problem two_together() { return {.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 10, 2, 4)}}; }

void expect_valid(const plan::problem& p, const plan::layout& l) {
  const auto v = plan::validate(p, l);
  EXPECT_FALSE(v) << plan::describe(v->rule) << ": " << v->first << ", " << v->second;
}

TEST(solve, gives_buffers_apart_in_time_the_same_bytes) {
  const plan::layout l = plan::solve(two_apart_in_time());
  EXPECT_EQ(l.height, 10u);
  EXPECT_TRUE(l.optimal());
  EXPECT_EQ(l.proof, plan::proof::load);
}

TEST(solve, plans_nothing) {
  const plan::layout l = plan::solve({});
  EXPECT_EQ(l.height, 0u);
  EXPECT_TRUE(l.optimal());
}

TEST(solve, names_the_moment_and_the_buffers_that_force_the_bound) {
  const plan::layout l = plan::solve(two_together());
  EXPECT_EQ(l.peak_moment, 2u);
  EXPECT_EQ(l.peak_live, (std::vector<plan::position>{0, 1}));
}

TEST(solve, rejects_malformed_problems_without_a_partial_plan) {
  const plan::layout l = plan::solve({.buffers = {buffer::half_open(0, 0, 0, 1)}});
  EXPECT_EQ(l.status, plan::status::rejected);
  EXPECT_TRUE(l.offsets.empty());
  EXPECT_EQ(plan::solve(two_together(), {.base_alignment = 3}).status, plan::status::rejected);
}

TEST(solve, aligns_to_the_base) {
  const plan::problem p = two_together();
  const plan::layout l = plan::solve(p, {.base_alignment = 64});
  EXPECT_EQ(l.height, 74u);
  EXPECT_EQ(l.lower_bound, 74u);
  expect_valid(p, l);
}

TEST(solve, keeps_pins) {
  plan::problem p = two_together();
  p.pins.push_back({0, 4});
  const plan::layout l = plan::solve(p);
  EXPECT_EQ(l.offsets, (std::vector<std::uint64_t>{4, 14}));
  EXPECT_EQ(l.height, 24u);
  EXPECT_TRUE(l.optimal());
  EXPECT_EQ(l.proof, plan::proof::exhaustion);
  expect_valid(p, l);
}

TEST(solve, finds_colliding_pins_infeasible) {
  plan::problem p = two_together();
  p.pins = {{0, 0}, {1, 9}};
  const plan::layout l = plan::solve(p);
  EXPECT_EQ(l.status, plan::status::infeasible);
  EXPECT_EQ(l.proof, plan::proof::pins);
  EXPECT_TRUE(l.offsets.empty());
}

TEST(solve, uses_gaps) {
  plan::problem p{.buffers = {buffer::half_open(0, 10, 0, 9), buffer::half_open(1, 10, 3, 5)}};
  p.gaps.push_back({0, 3, 5, 0, 0});
  EXPECT_EQ(plan::solve(p).height, 10u);
  p.gaps[0].high = 4;
  const plan::layout l = plan::solve(p);
  EXPECT_EQ(l.height, 14u);
  expect_valid(p, l);
}

TEST(solve, puts_alias_groups_at_one_offset_and_pairs_apart) {
  plan::problem p{.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5),
                              buffer::half_open(2, 8, 4, 6), buffer::half_open(3, 8, 7, 8)}};
  p.aliases.push_back({0, 1});
  p.apart.push_back({2, 3});
  const plan::layout l = plan::solve(p);
  EXPECT_EQ(l.offsets[0], l.offsets[1]);
  EXPECT_EQ(l.height, 16u);
  EXPECT_TRUE(l.optimal());
  expect_valid(p, l);
}

TEST(solve, fills_several_pools) {
  plan::problem p = two_together();
  p.pools = {{10}, {12}};
  p.pool_masks.push_back({0, 0b10});
  const plan::layout l = plan::solve(p);
  EXPECT_EQ(l.status, plan::status::feasible);
  EXPECT_EQ(l.pools, (std::vector<std::uint32_t>{1, 0}));
  expect_valid(p, l);
  p.pools[0].capacity = 9;
  EXPECT_EQ(plan::solve(p, {.effort = plan::effort::fast}).status, plan::status::unknown) << "a pool could hold either";
  EXPECT_EQ(plan::solve(p).status, plan::status::infeasible);
  EXPECT_EQ(plan::solve(p).proof, plan::proof::exhaustion);
  p.pools[1].capacity = 9;
  EXPECT_EQ(plan::solve(p).status, plan::status::infeasible);
}

TEST(solve, decides_a_capacity) {
  const plan::problem p = planner::generate_perfect(40, 64, 50, 16, 7);
  EXPECT_NE(plan::solve(p, {.capacity = 1024}).status, plan::status::unknown);
  EXPECT_EQ(plan::solve(p, {.capacity = 1024}).height, 1024u);
  const plan::layout l = plan::solve(p, {.capacity = 1023});
  EXPECT_EQ(l.status, plan::status::infeasible);
  EXPECT_EQ(l.proof, plan::proof::load);
  expect_valid(p, l);
}

TEST(solve, stays_close_to_the_previous_layout) {
  const plan::problem p = planner::generate_random(200, 3);
  const plan::layout before = plan::solve(p);
  EXPECT_EQ(plan::solve(p, {.seed = 5, .previous = &before}).offsets, before.offsets);
}

TEST(solve, returns_a_layout_when_stopped_at_once) {
  const std::atomic<bool> stop{true};
  const plan::problem p = planner::generate_perfect(300, 512, 400, 1, 2);
  plan::options wanted{.effort = plan::effort::exact, .stop = &stop};
  const plan::layout l = plan::solve(p, wanted);
  EXPECT_EQ(l.stats.nodes, 0u);
  expect_valid(p, l);
}

TEST(solve, obeys_a_node_budget_and_repeats_itself) {
  const plan::problem p = planner::generate_perfect(300, 512, 400, 1, 2);
  const plan::layout a = plan::solve(p, {.nodes = 500});
  EXPECT_LE(a.stats.nodes, 500u);
  EXPECT_EQ(plan::solve(p, {.nodes = 500}).offsets, a.offsets);
}

TEST(solve, reports_progress_that_only_improves) {
  std::uint64_t last = ~std::uint64_t{0};
  plan::options wanted;
  wanted.on_progress = [&](const plan::progress& now) {
    EXPECT_LE(now.height, last);
    EXPECT_LE(now.lower_bound, now.height);
    last = now.height;
  };
  const plan::layout l = plan::solve(planner::generate_perfect(60, 64, 60, 1, 9), wanted);
  EXPECT_EQ(last, l.height);
}

TEST(solve, counts_a_buffer_whole_even_where_windows_hide_part_of_it) {
  // The window lasts all of its life: the live bytes are those of the window, yet the layout must hold the buffer.
  plan::problem p{.buffers = {buffer::half_open(0, 255, 13, 16, 2)}, .gaps = {{0, 13, 16, 0, 16}}};
  const plan::layout l = plan::solve(p, {.nodes = 300});
  EXPECT_EQ(l.height, 255u);
  EXPECT_EQ(l.lower_bound, 255u);
  EXPECT_TRUE(l.optimal());
  EXPECT_EQ(plan::solve(p, {.capacity = 254}).status, plan::status::infeasible);
  p.gaps[0].high = 0;
  EXPECT_EQ(plan::solve(p).height, 255u) << "no byte is ever live";
  EXPECT_EQ(plan::solve(p).lower_bound, 255u);
}

TEST(solve, keeps_to_its_node_budget_where_bytes_are_many) {
  // Pinned at a high odd offset: every height between the load and the optimum must be excluded.
  plan::problem p = two_together();
  p.buffers[0].size = p.buffers[1].size = (std::uint64_t{1} << 50) + 1;
  p.pins.push_back({0, (std::uint64_t{1} << 49) + 3});
  const plan::layout l = plan::solve(p, {.nodes = 2000});
  expect_valid(p, l);
  EXPECT_LE(l.stats.nodes, 2000u);
  EXPECT_TRUE(l.optimal());
}

TEST(solve, shows_a_layout_where_a_pin_lies_above_the_capacity) {
  plan::problem p = two_apart_in_time();
  p.pins.push_back({0, 44});
  const plan::layout l = plan::solve(p, {.capacity = 53});
  EXPECT_EQ(l.status, plan::status::infeasible);
  EXPECT_EQ(l.proof, plan::proof::pins);
  EXPECT_EQ(l.height, 54u);
  expect_valid(p, l);
}

TEST(solve, takes_the_next_height_above_what_is_excluded_not_the_next_but_one) {
  plan::problem p{.buffers = {buffer::half_open(0, 119, 0, 6, 2), buffer::half_open(1, 118, 1, 7, 16)}};
  p.pins.push_back({0, 0});
  EXPECT_EQ(plan::solve(p).height, 246u);
  EXPECT_EQ(plan::solve(p).lower_bound, 246u);
}

/// More problems than in a quick run: ASHLAR_TEST_PLANNER_PROBLEMS=100000.
std::uint64_t problems() {
  const char* wanted = std::getenv("ASHLAR_TEST_PLANNER_PROBLEMS");
  return wanted != nullptr      ? std::strtoull(wanted, nullptr, 10)
         : ashlar_test::is_slow ? ashlar_test::cases_of_build(30, 60)
                                : 1000;
}

void add_gaps(plan::problem& p, planner::splitmix& random) {
  for (plan::position i = 0; i < p.buffers.size(); ++i) {
    const buffer& b = p.buffers[i];
    if (b.death - b.birth < 3 || random.below(3) != 0) continue;
    const std::uint64_t at = b.birth + 1 + random.below(b.death - b.birth - 2);
    p.gaps.push_back({i, at, at + 1, 0, random.below(2) != 0 ? 0 : random.below(b.size + 1)});
  }
}

/// Pins one or two buffers without a collision.
void add_pins(plan::problem& p, planner::splitmix& random) {
  const auto last = static_cast<plan::position>(p.buffers.size() - 1);
  p.pins.push_back({0, random.below(12) * p.buffers[0].alignment});
  const std::uint64_t at = random.below(12) * p.buffers[last].alignment;
  if (last != 0 && !ashlar::tests::collide(p, 0, last, p.pins[0].offset, at)) p.pins.push_back({last, at});
}

plan::problem random_constrained(planner::splitmix& random, std::uint64_t k) {
  plan::problem p =
      ashlar::tests::random_problem(random, k % 8 == 0 ? 9 : 7, 4 + k % 3 * 3, k % 2 != 0 ? 5 : 12, k % 3 == 0);
  if (k % 2 != 0) add_gaps(p, random);
  if (k % 4 == 3 && p.buffers.size() > 2) p.apart.push_back({0, 2});
  if (k % 5 == 4) add_pins(p, random);
  return p;
}

struct tally {
  std::uint64_t above_the_load = 0;
  std::uint64_t infeasible = 0;  // infeasible though the load fits
};

void compare(const plan::problem& p, tally& seen) {
  plan::options wanted{.effort = plan::effort::exact};
  const plan::layout l = plan::solve(p, wanted);
  const std::uint64_t best = exhaustive(p).optimum();
  ASSERT_EQ(l.height, best);
  ASSERT_EQ(l.lower_bound, best);
  ASSERT_EQ(l.status, plan::status::optimal);
  ASSERT_TRUE(ashlar::tests::valid(p, l));
  ASSERT_FALSE(plan::validate(p, l));
  seen.above_the_load += l.proof == plan::proof::exhaustion;
  wanted.capacity = best - 1;
  const plan::layout none = plan::solve(p, wanted);
  ASSERT_EQ(none.status, plan::status::infeasible);
  seen.infeasible += none.proof == plan::proof::exhaustion;
  wanted.capacity = best;
  ASSERT_LE(plan::solve(p, wanted).height, best);
}

TEST(solve, agrees_with_an_exhaustive_search) {
  planner::splitmix random(2026);
  tally seen;
  for (std::uint64_t k = 0; k < problems(); ++k) {
    const plan::problem p = random_constrained(random, k);
    compare(p, seen);
    if (HasFatalFailure()) FAIL() << "problem " << k << ":\n" << plan::format_csv(p);
  }
  RecordProperty("above_the_load", std::to_string(seen.above_the_load));
  RecordProperty("infeasible", std::to_string(seen.infeasible));
  EXPECT_GE(seen.above_the_load, problems() / 50) << "the proofs by exhaustion were hardly tried";
  EXPECT_GE(seen.infeasible, problems() / 50) << "the proofs by exhaustion were hardly tried";
}

}  // namespace
