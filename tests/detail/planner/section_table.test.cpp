// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the table of sections and of ranks.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <ashlar/detail/planner/make_instance.hpp>
#include <ashlar/detail/planner/section_table.hpp>

namespace {

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;
using plan::buffer;

plan::problem three_in_a_row() {
  return {.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5), buffer::half_open(2, 8, 4, 6)}};
}

TEST(section_table, counts_in_the_largest_unit_that_loses_nothing) {
  const planner::instance all = planner::make_instance(three_in_a_row());
  const planner::section_table t = planner::make_table(planner::whole_of(all));
  EXPECT_EQ(t.unit, 2);
  EXPECT_EQ(t.items[0].height, 5);
  EXPECT_TRUE(t.contiguous);
}

TEST(section_table, forbids_offsets_that_hit_something_pinned) {
  plan::problem p = three_in_a_row();
  p.pins.push_back({1, 4});
  const planner::instance all = planner::make_instance(p);
  const planner::section_table t = planner::make_table(planner::whole_of(all));
  ASSERT_EQ(t.items.size(), 2u);
  EXPECT_EQ(t.forbidden.begin(0)->begin, 2 - 5 + 1);
  EXPECT_EQ(t.forbidden.begin(0)->end, 5);
}

TEST(section_table, holds_of_a_window_nothing_that_lies_beyond) {
  const planner::instance all = planner::make_instance(three_in_a_row());
  const planner::part window{&all, {1, 2}, 1, 2, {6, planner::unpinned}};
  const planner::section_table t = planner::make_table(window);
  EXPECT_EQ(t.sections, 1u);
  ASSERT_EQ(t.items.size(), 1u);
  EXPECT_EQ(t.items[0].origin, 1u);
  EXPECT_EQ(t.pinned.begin(0)->begin * t.unit, 6);
  EXPECT_EQ(t.pinned.begin(0)->end * t.unit, 12);
}

TEST(section_table, gives_the_greatest_the_highest_rank) {
  const planner::instance all = planner::make_instance(three_in_a_row());
  const planner::section_table t = planner::make_table(planner::whole_of(all));
  EXPECT_EQ(ranks_by(t, planner::ranking::life), (std::vector<std::uint32_t>{1, 2, 0}));
  EXPECT_EQ(ranks_by(t, planner::ranking::height), (std::vector<std::uint32_t>{2, 0, 1}));
}

}  // namespace
