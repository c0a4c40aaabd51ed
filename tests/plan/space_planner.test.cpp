// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of planning one address space.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <ashlar/plan/space_planner.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

TEST(space_planner, plans_the_chosen_shapes_only) {
  const plan::shapes s =
      plan::make_shapes({.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5)}});
  plan::budget allowance(100);
  plan::statistics stats;
  const plan::options wanted;
  std::vector<std::uint64_t> offsets{77, 77};
  const plan::space_result r = plan::space_planner(s, {1}, wanted, allowance, stats).run(offsets);
  EXPECT_EQ(r.height, 6u);
  EXPECT_EQ(r.status, plan::status::optimal);
  EXPECT_EQ(offsets, (std::vector<std::uint64_t>{77, 0}));
}

}  // namespace
