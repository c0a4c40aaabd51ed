// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of lowering a placement: by exact searches, and by bottleneck windows.
#include <gtest/gtest.h>

#include <cstdint>

#include <ashlar/detail/planner/descent.hpp>
#include <ashlar/detail/planner/generate.hpp>
#include <ashlar/detail/planner/make_instance.hpp>
#include <ashlar/plan/validate.hpp>

namespace {

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;

TEST(descent, closes_in_on_a_known_optimum) {
  const planner::instance all = planner::make_instance(planner::generate_perfect(50, 64, 60, 4, 5));
  const planner::part whole = planner::whole_of(all);
  planner::budget effort(200'000);
  plan::statistics stats;
  planner::bracket x;
  x.best = planner::place_in_order(whole, planner::sorted_by(whole, planner::order::birth));
  x.bound = 1;  // the search must raise a bound that is too low
  planner::exact_search(whole).descend(x, 1, effort, stats, [](const planner::bracket&) {});
  EXPECT_EQ(x.best.height, 256u);
  EXPECT_GT(stats.nodes, 0u);
}

TEST(descent, lowers_a_bad_placement_window_by_window_and_keeps_it_valid) {
  const plan::problem p = planner::generate_perfect(120, 64, 400, 4, 11);
  const planner::instance all = planner::make_instance(p);
  const planner::part whole = planner::whole_of(all);
  planner::placement now = planner::place_in_order(whole, planner::sorted_by(whole, planner::order::birth));
  const std::uint64_t before = now.height;
  planner::budget effort(60'000);
  plan::statistics stats;
  planner::lower_peaks(whole, now, 256, effort, stats);
  EXPECT_LT(now.height, before);
  plan::layout l;
  l.offsets = now.offsets;
  l.height = now.height;
  EXPECT_FALSE(plan::validate(p, l));
}

}  // namespace
