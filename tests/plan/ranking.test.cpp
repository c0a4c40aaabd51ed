// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of static orders of figures.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <ashlar/plan/ranking.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

TEST(ranking, gives_the_greatest_the_highest_rank) {
  const plan::valley::board_shape s = plan::valley::make_board_shape(plan::make_model(plan::make_shapes(
      {.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5), buffer::half_open(2, 8, 4, 6)}})));
  EXPECT_EQ(ranks_by(s, plan::valley::ranking::life), (std::vector<std::uint32_t>{1, 2, 0}));
  EXPECT_EQ(ranks_by(s, plan::valley::ranking::height), (std::vector<std::uint32_t>{2, 0, 1}));
}

}  // namespace
