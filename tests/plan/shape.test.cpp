// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of shapes: buffers without their gaps, and alias groups.
#include <gtest/gtest.h>

#include <ashlar/plan/shape.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

TEST(shape, cuts_gaps_out_and_keeps_their_windows) {
  plan::problem p{.buffers = {buffer::half_open(0, 8, 0, 9)}};
  p.gaps = {{0, 4, 5, 2, 6}, {0, 1, 2, 0, 0}};
  const plan::shapes s = plan::make_shapes(p);
  ASSERT_EQ(s.stretches.size(), 4u);
  EXPECT_EQ(s.stretches[1].begin, 2u);
  EXPECT_EQ(s.stretches[2].low, 2u);
  EXPECT_EQ(s.stretches[3].end, 9u);
}

TEST(shape, unites_an_alias_group_into_what_it_occupies) {
  plan::problem p{.buffers = {buffer::half_open(0, 8, 0, 4), buffer::half_open(1, 12, 2, 6, 16)}};
  p.aliases.push_back({0, 1});
  const plan::shapes s = plan::make_shapes(p);
  ASSERT_EQ(s.list.size(), 1u);
  EXPECT_EQ(s.list[0].size, 12u);
  EXPECT_EQ(s.list[0].alignment, 16u);
  ASSERT_EQ(s.stretches.size(), 2u);
  EXPECT_EQ(s.stretches[0].high, 8u);
  EXPECT_EQ(s.stretches[1].begin, 2u);
}

}  // namespace
