// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of a buffer and its life.
#include <gtest/gtest.h>

#include <ashlar/base/problem.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

static_assert(buffer::inclusive(1, 8, 2, 4) == buffer::half_open(1, 8, 2, 5));

TEST(buffer, of_which_one_dies_when_the_other_is_born_do_not_live_together) {
  EXPECT_FALSE(plan::live_together(buffer::half_open(0, 1, 0, 2), buffer::half_open(1, 1, 2, 3)));
  EXPECT_TRUE(plan::live_together(buffer::inclusive(0, 1, 0, 2), buffer::inclusive(1, 1, 2, 3)));
}

}  // namespace
