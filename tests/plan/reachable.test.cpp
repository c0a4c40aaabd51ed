// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of sums of subsets.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include <ashlar/plan/portfolio.hpp>
#include <ashlar/plan/reachable.hpp>

namespace {

namespace plan = ashlar::plan;

TEST(reachable, agrees_with_all_stacks) {
  plan::splitmix random(8);
  for (int k = 0; k < 200; ++k) {
    const plan::valley::units capacity = 40 + static_cast<plan::valley::units>(random.below(300));
    const auto low = static_cast<plan::valley::units>(random.below(20)),
               slack = static_cast<plan::valley::units>(random.below(3));
    plan::valley::reachable sums(capacity, low, slack);
    std::vector<bool> expected(static_cast<std::size_t>(capacity) + 400);
    for (plan::valley::units p = low; p <= low + slack; ++p) expected[static_cast<std::size_t>(p)] = true;
    plan::valley::units floor = low;
    for (int n = 0; n < 6; ++n) {
      floor += static_cast<plan::valley::units>(random.below(30));
      const auto height = 1 + static_cast<plan::valley::units>(random.below(90));
      sums.stack(floor, height);
      for (plan::valley::units p = capacity; p >= floor; --p)
        if (expected[static_cast<std::size_t>(p)]) expected[static_cast<std::size_t>(p + height)] = true;
    }
    for (plan::valley::units p = low; p <= capacity; ++p)
      ASSERT_EQ(sums.next(p) == p, expected[static_cast<std::size_t>(p)]) << k << ' ' << p;
  }
}

}  // namespace
