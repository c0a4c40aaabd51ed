// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of greedy orders.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <ashlar/plan/order.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

plan::model three_for_order() {
  return plan::make_model(plan::make_shapes(
      {.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5), buffer::half_open(2, 8, 4, 6)}}));
}

TEST(order, sorts_each_way) {
  const plan::model m = three_for_order();
  EXPECT_EQ(plan::sorted_by(m, plan::order::size), (std::vector<std::uint32_t>{0, 2, 1}));
  EXPECT_EQ(plan::sorted_by(m, plan::order::life), (std::vector<std::uint32_t>{1, 0, 2}));
  for (const plan::order o : plan::all_orders) EXPECT_EQ(plan::sorted_by(m, o).size(), 3u) << name_of(o);
}

}  // namespace
