// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the constant part of a search board.
#include <gtest/gtest.h>

#include <ashlar/plan/board_shape.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

plan::model three_in_a_row() {
  return plan::make_model(plan::make_shapes(
      {.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5), buffer::half_open(2, 8, 4, 6)}}));
}

TEST(board_shape, counts_in_the_largest_unit_that_loses_nothing) {
  const plan::valley::board_shape s = plan::valley::make_board_shape(three_in_a_row());
  EXPECT_EQ(s.unit, 2);
  EXPECT_EQ(s.figures[0].height, 5);
  EXPECT_TRUE(s.contiguous);
}

TEST(board_shape, forbids_offsets_that_hit_something_pinned) {
  plan::model m = three_in_a_row();
  m.items[1].pin = 4;
  const plan::valley::board_shape s = plan::valley::make_board_shape(m);
  ASSERT_EQ(s.figures.size(), 2u);
  EXPECT_EQ(s.forbidden.begin(0)->begin, 2 - 5 + 1);
  EXPECT_EQ(s.forbidden.begin(0)->end, 5);
}

}  // namespace
