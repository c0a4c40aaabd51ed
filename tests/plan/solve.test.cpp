// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the planner: known optima, constraints, budgets, and random problems against an exhaustive search.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <ashlar/plan/generate.hpp>
#include <ashlar/plan/solve.hpp>
#include <ashlar/plan/validate.hpp>

#include "random_problem.hpp"

namespace {

namespace plan = ashlar::plan;
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
  p.allowances.push_back({0, 0b10});
  const plan::layout l = plan::solve(p);
  EXPECT_EQ(l.status, plan::status::feasible);
  EXPECT_EQ(l.pools, (std::vector<std::uint32_t>{1, 0}));
  expect_valid(p, l);
  p.pools[0].capacity = 9;
  EXPECT_EQ(plan::solve(p).status, plan::status::unknown) << "each pool alone could hold either";
  p.pools[1].capacity = 9;
  EXPECT_EQ(plan::solve(p).status, plan::status::infeasible);
}

TEST(solve, decides_a_capacity) {
  const plan::problem p = plan::generate_perfect(40, 64, 50, 16, 7);
  EXPECT_NE(plan::solve(p, {.capacity = 1024}).status, plan::status::unknown);
  EXPECT_EQ(plan::solve(p, {.capacity = 1024}).height, 1024u);
  const plan::layout l = plan::solve(p, {.capacity = 1023});
  EXPECT_EQ(l.status, plan::status::infeasible);
  EXPECT_EQ(l.proof, plan::proof::load);
  expect_valid(p, l);
}

TEST(solve, stays_close_to_the_previous_layout) {
  const plan::problem p = plan::generate_random(200, 3);
  const plan::layout before = plan::solve(p);
  EXPECT_EQ(plan::solve(p, {.seed = 5, .previous = &before}).offsets, before.offsets);
}

TEST(solve, returns_a_layout_when_stopped_at_once) {
  const std::atomic<bool> stop{true};
  const plan::problem p = plan::generate_perfect(300, 512, 400, 1, 2);
  plan::options wanted{.effort = plan::effort::exact, .stop = &stop};
  const plan::layout l = plan::solve(p, wanted);
  EXPECT_EQ(l.stats.nodes, 0u);
  expect_valid(p, l);
}

TEST(solve, obeys_a_node_budget_and_repeats_itself) {
  const plan::problem p = plan::generate_perfect(300, 512, 400, 1, 2);
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
  const plan::layout l = plan::solve(plan::generate_perfect(60, 64, 60, 1, 9), wanted);
  EXPECT_EQ(last, l.height);
}

/// More problems than a quick run wants: ASHLAR_TEST_PLANNER_PROBLEMS=100000.
std::uint64_t problems() {
  const char* wanted = std::getenv("ASHLAR_TEST_PLANNER_PROBLEMS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 1500;
}

plan::problem random_constrained(plan::splitmix& random, std::uint64_t k) {
  plan::problem p =
      ashlar::tests::random_problem(random, k % 8 == 0 ? 9 : 7, 4 + k % 3 * 3, k % 2 != 0 ? 5 : 12, k % 3 == 0);
  for (plan::position i = 0; k % 2 != 0 && i < p.buffers.size(); ++i) {
    const buffer& b = p.buffers[i];
    if (b.death - b.birth < 3 || random.below(3) != 0) continue;
    const std::uint64_t at = b.birth + 1 + random.below(b.death - b.birth - 2);
    p.gaps.push_back({i, at, at + 1, 0, random.below(2) != 0 ? 0 : random.below(b.size + 1)});
  }
  if (k % 4 == 3 && p.buffers.size() > 2) p.apart.push_back({0, 2});
  return p;
}

TEST(solve, agrees_with_an_exhaustive_search) {
  plan::splitmix random(2026);
  std::uint64_t above_the_load = 0;
  for (std::uint64_t k = 0; k < problems(); ++k) {
    const plan::problem p = random_constrained(random, k);
    plan::options wanted{.effort = plan::effort::exact};
    const plan::layout l = plan::solve(p, wanted);
    const std::uint64_t best = exhaustive(p).optimum();
    ASSERT_EQ(l.height, best) << k;
    ASSERT_EQ(l.lower_bound, best) << k;
    ASSERT_EQ(l.status, plan::status::optimal) << k;
    ASSERT_TRUE(ashlar::tests::valid(p, l)) << k;
    ASSERT_FALSE(plan::validate(p, l)) << k;
    above_the_load += l.proof == plan::proof::exhaustion;
    wanted.capacity = best - 1;
    ASSERT_EQ(plan::solve(p, wanted).status, plan::status::infeasible) << k;
    wanted.capacity = best;
    ASSERT_LE(plan::solve(p, wanted).height, best) << k;
  }
  EXPECT_GT(above_the_load, problems() / 50) << "the proofs by exhaustion were hardly tried";
}

}  // namespace
