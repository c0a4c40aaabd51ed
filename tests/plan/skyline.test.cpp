// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the skyline and of greedy placement from the bottom up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/plan/generate.hpp>
#include <ashlar/plan/skyline.hpp>
#include <ashlar/plan/validate.hpp>

#include "tests/plan/random_problem.hpp"

namespace {

namespace plan = ashlar::plan;

TEST(skyline, knows_the_greatest_height_of_any_range) {
  plan::splitmix random(3);
  for (const std::uint32_t sections : {1u, 2u, 7u, 64u, 100u}) {
    plan::skyline line(sections);
    std::vector<std::uint64_t> plain(sections);
    for (int k = 0; k < 500; ++k) {
      const auto first = static_cast<std::uint32_t>(random.below(sections));
      const auto last = static_cast<std::uint32_t>(first + 1 + random.below(sections - first));
      const auto from = plain.begin() + static_cast<std::ptrdiff_t>(first);
      const auto to = plain.begin() + static_cast<std::ptrdiff_t>(last);
      const std::uint64_t most = *std::max_element(from, to);
      ASSERT_EQ(line.over(first, last), most);
      line.raise(first, last, most + static_cast<std::uint64_t>(k % 3));
      std::fill(from, to, most + static_cast<std::uint64_t>(k % 3));
    }
  }
}

TEST(skyline, places_validly_from_below) {
  plan::splitmix random(8);
  for (int k = 0; k < 100; ++k) {
    plan::problem p = ashlar::tests::random_problem(random, 30, 12, 20, k % 2 == 0);
    if (p.buffers[0].death - p.buffers[0].birth > 2 && p.buffers[0].size > 1)
      p.gaps.push_back({0, p.buffers[0].birth + 1, p.buffers[0].birth + 2, 1, p.buffers[0].size});
    const plan::model m = plan::make_model(plan::make_shapes(p));
    plan::budget allowance(1000);
    const plan::placement found = plan::place_from_below(m, plan::order::area, allowance);
    plan::layout l;
    l.offsets = found.offsets;
    l.height = found.height;
    ASSERT_FALSE(plan::validate(p, l)) << k;
  }
}

TEST(skyline, gives_up_with_its_budget) {
  const plan::model m = plan::make_model(plan::make_shapes(plan::generate_random(5000, 1)));
  plan::budget allowance(0);
  EXPECT_TRUE(plan::place_from_below(m, plan::order::area, allowance).offsets.empty());
}

}  // namespace
