// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the defaults of the planner.
#include <gtest/gtest.h>

#include <ashlar/base/layout.hpp>

namespace {

namespace plan = ashlar::plan;

TEST(options, plan_for_the_least_height_with_bounded_work) {
  const plan::options o;
  EXPECT_EQ(o.effort, plan::effort::balanced);
  EXPECT_FALSE(o.capacity);
  EXPECT_EQ(o.base_alignment, 1u);
}

}  // namespace
