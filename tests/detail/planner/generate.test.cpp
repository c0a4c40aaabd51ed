// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of generated problems.
#include <gtest/gtest.h>

#include <cstdint>

#include <ashlar/detail/planner/generate.hpp>
#include <ashlar/plan/solve.hpp>

namespace {

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;

TEST(generate, cuts_boxes_that_are_full_at_every_moment) {
  const plan::problem p = planner::generate_perfect(100, 64, 80, 16, 1);
  EXPECT_FALSE(plan::check(p));
  for (std::uint64_t t = 0; t < 80; ++t) {
    std::uint64_t load = 0;
    for (const plan::buffer& b : p.buffers) load += b.birth <= t && t < b.death ? b.size : 0;
    ASSERT_EQ(load, 64u * 16u) << t;
  }
}

TEST(generate, makes_sound_problems_of_the_size_asked_for) {
  EXPECT_FALSE(plan::check(planner::generate_random(5000, 1)));
  EXPECT_FALSE(plan::check(planner::generate_frame(5000, 1)));
  EXPECT_FALSE(plan::check(planner::generate_training(5000, 1)));
  EXPECT_EQ(planner::generate_training(5000, 1).buffers.size(), 5000u);
  EXPECT_EQ(plan::solve(planner::generate_nearly_infeasible(30, 64, 80, 16, 1), {.capacity = 1024}).status,
            plan::status::infeasible);
}

}  // namespace
