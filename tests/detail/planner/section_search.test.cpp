// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the exact search.
#include <gtest/gtest.h>

#include <cstdint>

#include <ashlar/detail/planner/generate.hpp>
#include <ashlar/detail/planner/make_instance.hpp>
#include <ashlar/detail/planner/section_search.hpp>

namespace {

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;
using plan::buffer;

planner::verdict verdict_of(const plan::problem& p, std::uint64_t capacity, std::uint64_t nodes = 100'000) {
  const planner::instance all = planner::make_instance(p);
  planner::budget effort(nodes);
  return planner::section_search(planner::make_table(planner::whole_of(all)), capacity, effort).run();
}

TEST(section_search, fills_boxes_without_a_byte_to_spare) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    EXPECT_EQ(verdict_of(planner::generate_perfect(40, 60, 60, 16, seed), 960), planner::verdict::fits) << seed;
}

TEST(section_search, fails_where_the_load_alone_would_not) {
  // Two long buffers of 3 and 2 leave holes of 1 that the short ones, 2 each, cannot use.
  const plan::problem p{.buffers = {buffer::half_open(0, 3, 0, 2), buffer::half_open(1, 2, 1, 4),
                                    buffer::half_open(2, 3, 3, 6), buffer::half_open(3, 2, 5, 7),
                                    buffer::half_open(4, 3, 2, 3)}};
  EXPECT_EQ(verdict_of(p, 4), planner::verdict::fails);
  EXPECT_EQ(verdict_of(p, 5), planner::verdict::fits);
}

TEST(section_search, is_undecided_without_a_budget) {
  EXPECT_EQ(verdict_of(planner::generate_perfect(40, 60, 60, 16, 1), 960, 3), planner::verdict::undecided);
}

}  // namespace
