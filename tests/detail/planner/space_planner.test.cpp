// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of planning one address space.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <ashlar/detail/planner/make_instance.hpp>
#include <ashlar/detail/planner/space_planner.hpp>

namespace {

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;
using plan::buffer;

TEST(space_planner, plans_the_chosen_items_only) {
  const planner::instance all =
      planner::make_instance({.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5)}});
  const planner::instance chosen = planner::select(all, {1});
  planner::budget effort(100);
  plan::statistics stats;
  const plan::options wanted;
  std::vector<std::uint64_t> offsets{77};
  const planner::space_result r = planner::space_planner(chosen, wanted, effort, stats).run(offsets);
  EXPECT_EQ(r.height, 6u);
  EXPECT_EQ(r.status, plan::status::optimal);
  EXPECT_EQ(offsets, (std::vector<std::uint64_t>{0}));
}

TEST(space_planner, leaves_items_alone_that_never_live) {
  plan::problem p{.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5)}};
  p.gaps.push_back({0, 0, 3, 0, 0});
  const planner::instance all = planner::make_instance(p);
  planner::budget effort(100);
  plan::statistics stats;
  const plan::options wanted;
  std::vector<std::uint64_t> offsets{77, 77};
  EXPECT_EQ(planner::space_planner(all, wanted, effort, stats).run(offsets).height, 10u);
  EXPECT_EQ(offsets, (std::vector<std::uint64_t>{77, 0}));
}

}  // namespace
