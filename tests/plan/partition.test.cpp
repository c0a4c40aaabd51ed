// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of parts that share no section.
#include <gtest/gtest.h>

#include <ashlar/plan/partition.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

TEST(partition, cuts_where_nothing_crosses_unless_a_pair_ties_the_sides) {
  plan::problem p{
      .buffers = {buffer::half_open(0, 1, 0, 2), buffer::half_open(1, 1, 2, 3), buffer::half_open(2, 1, 4, 5)}};
  EXPECT_EQ(plan::partition(plan::make_model(plan::make_shapes(p))).size(), 3u);
  p.apart.push_back({0, 2});
  EXPECT_EQ(plan::partition(plan::make_model(plan::make_shapes(p))).size(), 2u);
}

}  // namespace
