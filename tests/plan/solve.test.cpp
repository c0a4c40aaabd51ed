// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the planner: known optima, constraints, budgets, random problems against an exhaustive search; and at
// compile time.
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/planner/generate.hpp>
#include <ashlar/plan/csv.hpp>
#include <ashlar/plan/pack.hpp>
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
  p.pools = {{100}, {9}};
  EXPECT_EQ(plan::solve(p, {.effort = plan::effort::fast}).proof, plan::proof::load) << "no pool for a buffer";
  p.pool_masks.clear();
  p.pools = {{10}, {9}};
  EXPECT_EQ(plan::solve(p, {.effort = plan::effort::fast}).proof, plan::proof::load) << "a byte too few for both";
}

TEST(solve, decides_a_capacity) {
  const plan::problem p = planner::generate_perfect(40, 64, 50, 16, 7);
  EXPECT_NE(plan::solve(p, {.capacity = 1024}).status, plan::status::unknown);
  EXPECT_EQ(plan::solve(p, {.capacity = 1024}).height, 1024u);
  const plan::layout l = plan::solve(p, {.capacity = 1023});
  EXPECT_EQ(l.status, plan::status::infeasible);
  EXPECT_EQ(l.proof, plan::proof::load);
  expect_valid(p, l);
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    EXPECT_TRUE(plan::solve(planner::generate_perfect(40, 60, 60, 16, seed), {.capacity = 960}).optimal()) << seed;
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

using ashlar::tests::every_placement;

TEST(solve, proves_optima_of_windows_that_the_load_does_not) {
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

TEST(solve, proves_what_does_not_fit_pools) {
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

TEST(solve, gives_up_dividing_among_pools_with_its_budget) {
  plan::problem p;
  for (std::uint64_t i = 0; i < 9; ++i) p.buffers.push_back(buffer::half_open(i, 7, 0, 1));
  p.pools = {{20}, {20}, {23}};
  EXPECT_EQ(plan::solve(p, {.nodes = 3}).status, plan::status::unknown);
  EXPECT_EQ(plan::solve(p).status, plan::status::infeasible);
}

/// A sum of layouts, and of the work for them: each search, order, inference and table of failed states has its share.
class work_sum {
public:
  /// Returns: the layout.
  plan::layout add(const plan::problem& p, const plan::options& wanted) {
    plan::layout l = plan::solve(p, wanted);
    if (!l.offsets.empty()) expect_valid(p, l);
    for (const std::uint64_t each : l.offsets) add(each);
    for (const std::uint32_t each : l.pools) add(each);
    for (const plan::position each : l.peak_live) add(each);
    for (const std::uint64_t each :
         {l.height, l.lower_bound, l.peak_moment, static_cast<std::uint64_t>(l.status),
          static_cast<std::uint64_t>(l.proof), l.stats.nodes, l.stats.table_hits, l.stats.greedy_height,
          std::uint64_t{l.stats.partitions}, std::uint64_t{l.stats.sections}, std::uint64_t{l.stats.windows}})
      add(each);
    return l;
  }
  [[nodiscard]] std::uint64_t value() const { return sum_; }

private:
  void add(std::uint64_t word) { sum_ = (std::rotl(sum_, 23) ^ word) * 0x9E3779B97F4A7C15u; }

  std::uint64_t sum_ = 0;
};

void constrain(plan::problem& p, planner::splitmix& random, unsigned k) {
  if (k % 2 != 0) add_gaps(p, random);
  for (plan::gap& g : p.gaps)
    if (k % 6 == 1 && g.high < p.buffers[g.buffer].size) g.low = random.below(g.high + 1);
  if (k % 7 == 2) add_pins(p, random);
  if (p.buffers.size() < 7) return;
  if (k % 5 == 1) p.apart = {{0, 2}, {1, 3}};
  if (k % 11 == 3) p.aliases = {{4, 5}, {5, 6}};
  if (k % 13 == 4) p.pools = {{60 + random.below(200)}, {60 + random.below(200)}}, p.pool_masks = {{0, 2}};
}

/// Too many buffers for a search of them all, and such that placing from below is better than each order.
plan::problem many_buffers() {
  planner::splitmix random(1);
  plan::problem p;
  for (std::uint64_t i = 0; i < 4100; ++i) {
    const std::uint64_t birth = random.below(4100), size = 1 + random.below(std::uint64_t{1} << random.below(8));
    p.buffers.push_back(
        buffer::half_open(i, size, birth, birth + 1 + random.below(std::uint64_t{1} << random.below(11))));
  }
  return p;
}

TEST(solve, plans_alike_and_with_the_same_work_on_every_machine) {
  work_sum small, large;
  planner::splitmix random(77);
  plan::layout last;
  for (unsigned k = 0; k < 240; ++k) {
    plan::problem p = ashlar::tests::random_problem(random, 10 + k % 40, 4 + k % 30, 1 + k % 64, k % 3 == 0);
    constrain(p, random, k);
    plan::options wanted{.effort = static_cast<plan::effort>(k % 3), .nodes = k % 10 == 9 ? 5u : 1000u};
    if (k % 9 == 0) wanted.base_alignment = 16;
    if (k % 8 == 0) wanted.capacity = 50 + random.below(300);
    if (k % 17 == 0) wanted.seed = k + 1;
    last = small.add(p, wanted);
    p.buffers.front().size += 1;
    wanted.previous = &last;
    if (k % 4 == 0) small.add(p, wanted);
  }
  for (const auto effort : {plan::effort::fast, plan::effort::balanced}) {
    large.add(planner::generate_perfect(300, 512, 512, 16, 3), {.effort = effort, .nodes = 300});
    large.add(planner::generate_training(600, 1), {.effort = effort});
  }
  EXPECT_EQ(large.add(many_buffers(), {.effort = plan::effort::fast}).height, 2444u);
  EXPECT_EQ(large.add(many_buffers(), {.nodes = 1}).stats.windows, 0u) << "the budget ends with the places from below";
  EXPECT_EQ(large.add(many_buffers(), {.nodes = 40}).height, 2440u);
  EXPECT_EQ(small.value(), 15190357687653970430u) << "of small problems with all constraints";
  EXPECT_EQ(large.value(), 6127607659691170603u) << "of large ones: orders, places from below, windows";
}

constexpr std::array<buffer, 4> frame{
    buffer::inclusive(0, 4096, 0, 1),
    buffer::inclusive(1, 1024, 1, 2),
    buffer::inclusive(2, 4096, 2, 3),
    buffer::inclusive(3, 100, 0, 3, 64),
};
constexpr auto layout = plan::solve(frame);
static_assert(layout.height == 5220);
static_assert(layout.optimal());
static_assert(layout.offsets[0] == 0 && layout.offsets[2] == 0, "the first and the third share their bytes");
static_assert(layout.offsets[3] % 64 == 0);

TEST(pack, does_at_run_time_what_it_does_at_compile_time) { EXPECT_EQ(plan::solve(frame).offsets, layout.offsets); }

TEST(pack, plans_nothing) { EXPECT_EQ(plan::solve(std::array<buffer, 0>{}).height, 0u); }

}  // namespace
