// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of bottleneck windows.
#include <gtest/gtest.h>

#include <cstdint>

#include <ashlar/plan/generate.hpp>
#include <ashlar/plan/order.hpp>
#include <ashlar/plan/validate.hpp>
#include <ashlar/plan/windows.hpp>

namespace {

namespace plan = ashlar::plan;

TEST(windows, lower_a_bad_placement_and_keep_it_valid) {
  const plan::problem p = plan::generate_perfect(120, 64, 400, 4, 11);
  const plan::model m = plan::make_model(plan::make_shapes(p));
  plan::placement now = plan::place_in_order(m, plan::sorted_by(m, plan::order::birth));
  const std::uint64_t before = now.height;
  plan::budget allowance(60'000);
  plan::statistics stats;
  plan::lower_peaks(m, now, 256, allowance, stats);
  EXPECT_LT(now.height, before);
  plan::layout l;
  l.offsets = now.offsets;
  l.height = now.height;
  EXPECT_FALSE(plan::validate(p, l));
}

}  // namespace
