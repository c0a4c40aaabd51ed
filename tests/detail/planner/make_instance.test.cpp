// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the conversion of a problem to items and sections.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <ashlar/detail/planner/make_instance.hpp>

namespace {

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;
using plan::buffer;

plan::problem three_sections() {
  return {.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5), buffer::half_open(2, 8, 4, 6)}};
}

TEST(make_instance, makes_a_section_of_each_maximal_set_of_items_live_together) {
  const planner::instance all = planner::make_instance(three_sections());
  EXPECT_EQ(all.sections, 2u);
  EXPECT_EQ(all.begin(1)->first, 0u);
  EXPECT_EQ(all.begin(1)->last, 2u);
}

TEST(make_instance, gives_a_pair_to_be_kept_apart_a_section_of_its_own) {
  plan::problem p{.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 3, 5)}};
  p.apart.push_back({0, 1});
  const planner::instance all = planner::make_instance(p);
  EXPECT_EQ(all.sections, 3u);
  EXPECT_EQ(all.begin(0)[1].first, 2u);
  EXPECT_EQ(all.begin(1)[1].last, 3u);
}

TEST(make_instance, cuts_gaps_out_and_keeps_their_windows) {
  plan::problem p{.buffers = {buffer::half_open(0, 8, 0, 9)}};
  p.gaps = {{0, 4, 5, 2, 6}, {0, 1, 2, 0, 0}};
  const planner::instance all = planner::make_instance(p);
  ASSERT_EQ(all.intervals.size(), 4u);
  EXPECT_EQ(all.intervals[1].begin, 2u);
  EXPECT_EQ(all.intervals[2].low, 2u);
  EXPECT_EQ(all.intervals[3].end, 9u);
}

TEST(make_instance, unites_an_alias_group_into_one_item) {
  plan::problem p{.buffers = {buffer::half_open(0, 8, 0, 4), buffer::half_open(1, 12, 2, 6, 16)}};
  p.aliases.push_back({0, 1});
  const planner::instance all = planner::make_instance(p);
  ASSERT_EQ(all.items.size(), 1u);
  EXPECT_EQ(all.items[0].size, 12u);
  EXPECT_EQ(all.items[0].alignment, 16u);
  ASSERT_EQ(all.intervals.size(), 2u);
  EXPECT_EQ(all.intervals[0].high, 8u);
  EXPECT_EQ(all.intervals[1].begin, 2u);
}

TEST(make_instance, selects_items_with_sections_of_their_own) {
  plan::problem p = three_sections();
  p.apart = {{0, 2}, {0, 1}};
  const planner::instance all = planner::make_instance(p);
  const planner::instance some = planner::select(all, {0, 2});
  EXPECT_EQ(all.sections, 4u);
  EXPECT_EQ(some.sections, 3u) << "one each, and one of their pair";
  EXPECT_EQ(some.items[1].size, 8u);
  EXPECT_EQ(some.begin(1)[1].first, 2u);
  EXPECT_EQ(some.moments, (std::vector<std::uint64_t>{0, 4, 0}));
}

}  // namespace
