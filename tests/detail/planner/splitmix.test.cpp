// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the random number generator.
#include <gtest/gtest.h>

#include <cstdint>

#include <ashlar/detail/planner/splitmix.hpp>

namespace {

namespace planner = ashlar::detail::planner;

TEST(splitmix, gives_the_numbers_that_are_published_for_its_seed) {
  planner::splitmix random(1234567);
  EXPECT_EQ(random(), 6457827717110365317u);
  EXPECT_EQ(random(), 3203168211198807973u);
  EXPECT_LT(random.below(10), 10u);
}

}  // namespace
