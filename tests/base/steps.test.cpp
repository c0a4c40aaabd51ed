// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of lives as a sequence of births and deaths.
#include <gtest/gtest.h>

#include <vector>

#include <ashlar/base/problem.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;
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

}  // namespace
