// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of assignments to pools.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <ashlar/plan/pools.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

TEST(pools, sees_items_and_loads_that_no_pool_can_hold) {
  const plan::shapes s =
      plan::make_shapes({.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5)}});
  const plan::model m = plan::make_model(s);
  EXPECT_TRUE(plan::pools_overloaded(m, s, {{9}, {9}}));
  EXPECT_TRUE(plan::pools_overloaded(m, s, {{10}, {5}}));
  EXPECT_FALSE(plan::pools_overloaded(m, s, {{10}, {6}}));
  EXPECT_EQ(plan::assign_pools(m, s, {{6}, {10}}).pools, (std::vector<std::uint32_t>{1, 0}));
}

}  // namespace
