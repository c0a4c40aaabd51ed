// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of instances: loads, bounds and parts.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <ashlar/detail/planner/make_instance.hpp>

namespace {

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;
using plan::buffer;

plan::problem three_loads() {
  return {.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5), buffer::half_open(2, 8, 4, 6)}};
}

TEST(instance, bounds_the_height_by_the_load_of_its_fullest_section) {
  const planner::instance all = planner::make_instance(three_loads());
  const planner::load_bound b = planner::load_bound_of(planner::whole_of(all));
  EXPECT_EQ(b.height, 16u);
  EXPECT_EQ(b.section, 0u);
}

TEST(instance, pads_all_but_the_highest_to_the_common_alignment) {
  const plan::problem p{.buffers = {buffer::half_open(0, 10, 0, 3, 16), buffer::half_open(1, 10, 0, 3, 32)}};
  const planner::instance all = planner::make_instance(p);
  EXPECT_EQ(planner::load_bound_of(planner::whole_of(all)).height, 26u);
}

TEST(instance, is_as_high_as_its_pins_force) {
  plan::problem p{.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 10, 2, 4)}};
  p.pins = {{0, 0}, {1, 10}};
  const planner::instance all = planner::make_instance(p);
  EXPECT_EQ(planner::pinned_height(planner::whole_of(all)), 20u);
}

TEST(instance, is_cut_where_nothing_crosses_unless_a_pair_ties_the_sides) {
  plan::problem p{
      .buffers = {buffer::half_open(0, 1, 0, 2), buffer::half_open(1, 1, 2, 3), buffer::half_open(2, 1, 4, 5)}};
  const planner::instance free = planner::make_instance(p);
  EXPECT_EQ(planner::parts_of(free).size(), 3u);
  p.apart.push_back({0, 2});
  const planner::instance tied = planner::make_instance(p);
  EXPECT_EQ(planner::parts_of(tied).size(), 2u);
}

TEST(instance, has_parts_whose_sections_are_neighbours_and_keep_their_order) {
  plan::problem p{
      .buffers = {buffer::half_open(0, 4, 0, 2), buffer::half_open(1, 4, 2, 3), buffer::half_open(2, 4, 4, 5)}};
  p.apart.push_back({0, 2});
  const planner::instance all = planner::make_instance(p);
  const std::vector<planner::part> parts = planner::parts_of(all);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].items, (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(parts[0].sections(), 3u);
  EXPECT_EQ(parts[1].items, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(all.in_time, (std::vector<std::uint32_t>{0, 2, 3, 1}));
  EXPECT_EQ(all.moments, (std::vector<std::uint64_t>{0, 4, 0, 2}));
}

TEST(instance, names_the_earliest_of_equal_loads) {
  plan::problem p{
      .buffers = {buffer::half_open(0, 3, 0, 2), buffer::half_open(1, 8, 2, 3), buffer::half_open(2, 5, 4, 5)}};
  p.apart.push_back({0, 2});
  const planner::instance all = planner::make_instance(p);
  const planner::load_bound b = planner::load_bound_of(planner::whole_of(all));
  EXPECT_EQ(b.height, 8u);
  EXPECT_EQ(all.moments[b.section], 2u) << "the pair has the same load, but comes last";
}

}  // namespace
