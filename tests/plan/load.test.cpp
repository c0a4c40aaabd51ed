// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the load bound.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <ashlar/plan/load.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

plan::model three_loads() {
  return plan::make_model(plan::make_shapes(
      {.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5), buffer::half_open(2, 8, 4, 6)}}));
}

TEST(load, is_that_of_the_fullest_section) {
  const plan::load_bound b = plan::load_bound_of(three_loads());
  EXPECT_EQ(b.height, 16u);
  EXPECT_EQ(b.section, 0u);
  EXPECT_EQ(plan::live_in(three_loads(), 1), (std::vector<std::uint32_t>{1, 2}));
}

TEST(load, pads_all_but_the_highest_to_the_common_alignment) {
  const plan::problem p{.buffers = {buffer::half_open(0, 10, 0, 3, 16), buffer::half_open(1, 10, 0, 3, 32)}};
  EXPECT_EQ(plan::load_bound_of(plan::make_model(plan::make_shapes(p))).height, 26u);
}

}  // namespace
