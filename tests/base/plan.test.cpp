// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the words of a plan: buffers, problems and their defects, lives in steps, layouts.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/layout.hpp>
#include <ashlar/base/problem.hpp>

namespace {

namespace plan = ashlar::plan;

using plan::buffer;

static_assert(buffer::inclusive(1, 8, 2, 4) == buffer::half_open(1, 8, 2, 5));

TEST(buffer, of_which_one_dies_when_the_other_is_born_do_not_live_together) {
  EXPECT_FALSE(plan::live_together(buffer::half_open(0, 1, 0, 2), buffer::half_open(1, 1, 2, 3)));
  EXPECT_TRUE(plan::live_together(buffer::inclusive(0, 1, 0, 2), buffer::inclusive(1, 1, 2, 3)));
}

namespace planner = ashlar::detail::planner;

TEST(problem, is_unconstrained_until_a_constraint_is_added) {
  plan::problem p{.buffers = {buffer::half_open(0, 1, 0, 1)}};
  EXPECT_TRUE(p.unconstrained());
  p.pins.push_back({0, 0});
  EXPECT_FALSE(p.unconstrained());
}

plan::problem sound() { return {.buffers = {buffer::half_open(7, 8, 0, 9), buffer::half_open(8, 8, 0, 9, 4)}}; }

void expect_defect(const plan::problem& p, plan::defect what, plan::position at) {
  const auto e = plan::check(p);
  ASSERT_TRUE(e);
  EXPECT_EQ(plan::describe(e->what), plan::describe(what));
  EXPECT_EQ(e->buffer, at);
}

TEST(check, finds_nothing_in_a_sound_problem) { EXPECT_FALSE(plan::check(sound())); }

TEST(check, names_each_defect_of_a_constraint) {
  const auto with = [](auto change) {
    plan::problem p = sound();
    change(p);
    return p;
  };
  using plan::problem;
  expect_defect(with([](problem& p) { p.gaps = {{2, 1, 2, 0, 0}}; }), plan::defect::no_such_buffer, 2);
  expect_defect(with([](problem& p) { p.gaps = {{0, 1, 10, 0, 0}}; }), plan::defect::gap_outside_life, 0);
  expect_defect(with([](problem& p) { p.pins = {{1, 2}}; }), plan::defect::pin_misaligned, 1);
  expect_defect(with([](problem& p) { p.pins = {{0, 2}, {0, 2}}; }), plan::defect::pinned_twice, 0);
  expect_defect(with([](problem& p) { p.aliases = {{0, 5}}; }), plan::defect::no_such_buffer, 5);
  expect_defect(with([](problem& p) {
                  p.aliases = {{0, 1}};
                  p.apart = {{0, 1}};
                }),
                plan::defect::alias_conflict, 1);
  expect_defect(with([](problem& p) {
                  p.aliases = {{0, 1}};
                  p.pins = {{0, 0}, {1, 4}};
                }),
                plan::defect::pinned_twice, 1);
  expect_defect(with([](problem& p) {
                  p.pools.resize(2);
                  p.pool_masks = {{1, 4}};
                }),
                plan::defect::no_allowed_pool, 1);
  expect_defect(with([](problem& p) { p.pools.resize(65); }), plan::defect::too_many_pools, 0);
}

TEST(check, refuses_a_buffer_with_masks_that_have_no_pool_in_common) {
  plan::problem p = sound();
  p.pools = {{64}, {64}};
  p.pool_masks = {{0, 1}, {1, 2}};
  EXPECT_FALSE(plan::check(p));
  p.aliases.push_back({0, 1});
  expect_defect(p, plan::defect::no_allowed_pool, 1);
  p.aliases.clear();
  p.pool_masks = {{0, 1}, {0, 2}};
  expect_defect(p, plan::defect::no_allowed_pool, 0);
}

TEST(alias_groups, follows_chains_of_pairs) {
  plan::problem p;
  for (std::uint64_t i = 0; i < 5; ++i) p.buffers.push_back(buffer::half_open(i, 1, 0, 1));
  p.aliases = {{4, 2}, {2, 0}};
  EXPECT_EQ(planner::group_aliases(p), (std::vector<plan::position>{0, 1, 0, 3, 0}));
}

using plan::step;

TEST(steps, come_in_the_order_of_time_deaths_first) {
  const std::vector<buffer> buffers{buffer::half_open(7, 1, 3, 9), buffer::half_open(8, 1, 0, 3),
                                    buffer::half_open(9, 1, 3, 5)};
  EXPECT_EQ(plan::steps_of(buffers), (std::vector<step>{step::birth(1), step::death(1), step::birth(0), step::birth(2),
                                                        step::death(2), step::death(0)}));
}

TEST(steps, name_the_buffer_and_the_event) {
  EXPECT_EQ(step::death(5).buffer(), 5u);
  EXPECT_TRUE(step::death(5).dies());
  EXPECT_FALSE(step::birth(5).dies());
  EXPECT_TRUE(plan::steps_of({}).empty());
}

TEST(layout, names_verdicts_and_proofs) {
  EXPECT_EQ(name_of(plan::status::infeasible), "infeasible");
  EXPECT_EQ(name_of(plan::proof::exhaustion), "exhaustion");
}

TEST(successions, name_the_last_holder_only) {
  const plan::problem p{.buffers = {buffer::half_open(0, 8, 0, 1), buffer::half_open(1, 4, 1, 2),
                                    buffer::half_open(2, 8, 2, 3), buffer::half_open(3, 2, 0, 9)}};
  plan::layout l;
  l.offsets = {0, 0, 0, 8};
  l.height = 10;
  EXPECT_EQ(plan::successions(p, l), (std::vector<plan::pair>{{0, 1}, {1, 2}, {0, 2}}));
}

TEST(successions, keep_both_ends_of_a_holder_taken_over_in_its_middle) {
  const plan::problem p{.buffers = {buffer::half_open(0, 9, 0, 1), buffer::half_open(1, 3, 1, 2),
                                    buffer::half_open(2, 3, 2, 3), buffer::half_open(3, 3, 2, 3)}};
  plan::layout l;
  l.offsets = {0, 3, 0, 6};
  l.height = 9;
  EXPECT_EQ(plan::successions(p, l), (std::vector<plan::pair>{{0, 1}, {0, 2}, {0, 3}}));
}

}  // namespace
