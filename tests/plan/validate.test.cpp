// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the validator: each rule broken once, and the same verdicts as a comparison of every pair.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <ashlar/plan/validate.hpp>

#include "tests/plan/random_problem.hpp"

namespace {

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;
using plan::breach;
using plan::buffer;

plan::layout at(std::vector<std::uint64_t> offsets, std::uint64_t height) {
  plan::layout l;
  l.offsets = std::move(offsets);
  l.height = height;
  return l;
}

plan::problem three_for_validate() {
  return {
      .buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 10, 2, 4, 2), buffer::half_open(2, 10, 4, 5)}};
}

void expect_breach(const plan::problem& p, const plan::layout& l, breach rule, plan::position first,
                   plan::position second) {
  const auto v = plan::validate(p, l);
  ASSERT_TRUE(v);
  EXPECT_EQ(plan::describe(v->rule), plan::describe(rule));
  EXPECT_EQ(v->first, first);
  EXPECT_EQ(v->second, second);
}

TEST(validate, names_the_rule_and_the_buffers) {
  plan::problem p = three_for_validate();
  EXPECT_FALSE(plan::validate(p, at({0, 10, 0}, 20)));
  expect_breach(p, at({0, 10}, 20), breach::missing_offset, 0, 0);
  expect_breach(p, at({0, 11, 0}, 21), breach::misaligned, 1, 1);
  expect_breach(p, at({0, 10, 0}, 19), breach::above_height, 1, 1);
  expect_breach(p, at({~std::uint64_t{0}, 10, 0}, 20), breach::above_height, 0, 0);
  expect_breach(p, at({0, 8, 0}, 20), breach::overlap, 0, 1);
  p.pins.push_back({2, 4});
  expect_breach(p, at({0, 10, 0}, 20), breach::pin_moved, 2, 2);
}

TEST(validate, checks_pairs) {
  plan::problem p = three_for_validate();
  p.aliases.push_back({0, 2});
  expect_breach(p, at({0, 10, 2}, 20), breach::alias_split, 0, 2);
  expect_breach(p, at({0, 8, 0}, 20), breach::overlap, 0, 1);
  p.aliases[0] = {0, 1};
  EXPECT_FALSE(plan::validate(p, at({0, 0, 0}, 10))) << "members of a group may overlap";
  p.apart.push_back({0, 2});
  expect_breach(p, at({0, 0, 9}, 19), breach::not_apart, 0, 2);
}

TEST(validate, checks_pools) {
  plan::problem p = three_for_validate();
  p.pools = {{10}, {10}};
  plan::layout l = at({0, 0, 0}, 10);
  expect_breach(p, l, breach::missing_offset, 0, 0);
  l.pools = {0, 1, 0};
  EXPECT_FALSE(plan::validate(p, l));
  l.pools = {0, 0, 0};
  expect_breach(p, l, breach::overlap, 0, 1);
  l.pools = {0, 2, 0};
  expect_breach(p, l, breach::wrong_pool, 1, 1);
  l.pools = {0, 1, 0};
  p.pool_masks.push_back({1, 1});
  expect_breach(p, l, breach::wrong_pool, 1, 1);
  p.pools[0].capacity = 9;
  expect_breach(p, l, breach::above_pool, 0, 0);
}

TEST(validate, agrees_with_looking_at_every_pair) {
  planner::splitmix random(1);
  int invalid = 0;
  for (int k = 0; k < 3000; ++k) {
    plan::problem p = ashlar::tests::random_problem(random, 7, 9, 5);
    for (plan::position i = 0; i < p.buffers.size(); ++i) {
      const buffer& b = p.buffers[i];
      if (b.death - b.birth < 3 || random.below(2) != 0) continue;
      const std::uint64_t low = random.below(b.size);
      p.gaps.push_back({i, b.birth + 1, b.birth + 2, low, low + random.below(b.size - low + 1)});
    }
    plan::layout l = at({}, 40);
    for (std::size_t i = 0; i < p.buffers.size(); ++i) l.offsets.push_back(random.below(16));
    ASSERT_EQ(!plan::validate(p, l), ashlar::tests::valid(p, l)) << k;
    invalid += !ashlar::tests::valid(p, l);
  }
  EXPECT_GT(invalid, 500);
  EXPECT_LT(invalid, 2900);
}

}  // namespace
