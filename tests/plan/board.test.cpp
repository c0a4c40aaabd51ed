// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of floors, inferences and undo.
#include <gtest/gtest.h>

#include <ashlar/plan/board.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

plan::model three_on_board() {
  return plan::make_model(plan::make_shapes(
      {.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5), buffer::half_open(2, 8, 4, 6)}}));
}

TEST(board, raises_what_overlaps_and_takes_it_back) {
  plan::valley::board b(plan::valley::make_board_shape(three_on_board()), 24);
  ASSERT_TRUE(b.reset());
  const std::size_t mark = b.mark();
  ASSERT_TRUE(b.place(0));
  EXPECT_TRUE(b.placed(0));
  EXPECT_EQ(b.floor(1), 5);
  EXPECT_EQ(b.section(0).live, 1u);
  b.undo(mark);
  EXPECT_EQ(b.floor(1), 0);
  EXPECT_EQ(b.section(0).live, 2u);
}

TEST(board, sees_at_once_that_a_load_does_not_fit) {
  plan::valley::board b(plan::valley::make_board_shape(three_on_board()), 14);
  EXPECT_FALSE(b.reset());
}

}  // namespace
