// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the problem.
#include <gtest/gtest.h>

#include <ashlar/plan/problem.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

TEST(problem, is_unconstrained_until_a_constraint_is_added) {
  plan::problem p{.buffers = {buffer::half_open(0, 1, 0, 1)}};
  EXPECT_TRUE(p.unconstrained());
  p.pins.push_back({0, 0});
  EXPECT_FALSE(p.unconstrained());
}

}  // namespace
