// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the attainable offsets of stacks.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/detail/planner/splitmix.hpp>
#include <ashlar/detail/planner/subset_sums.hpp>

namespace {

namespace planner = ashlar::detail::planner;

TEST(subset_sums, agrees_with_all_stacks) {
  planner::splitmix random(8);
  for (int k = 0; k < 200; ++k) {
    const planner::units capacity = 40 + static_cast<planner::units>(random.below(300));
    const auto low = static_cast<planner::units>(random.below(20)),
               slack = static_cast<planner::units>(random.below(3));
    planner::subset_sums sums(capacity, low, slack);
    std::vector<bool> expected(static_cast<std::size_t>(capacity) + 400);
    for (planner::units p = low; p <= low + slack; ++p) expected[static_cast<std::size_t>(p)] = true;
    planner::units floor = low;
    for (int n = 0; n < 6; ++n) {
      floor += static_cast<planner::units>(random.below(30));
      const auto height = 1 + static_cast<planner::units>(random.below(90));
      sums.stack(floor, height);
      for (planner::units p = capacity; p >= floor; --p)
        if (expected[static_cast<std::size_t>(p)]) expected[static_cast<std::size_t>(p + height)] = true;
    }
    for (planner::units p = low; p <= capacity; ++p)
      ASSERT_EQ(sums.next(p) == p, expected[static_cast<std::size_t>(p)]) << k << ' ' << p;
  }
}

}  // namespace
