// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of problems: made, read, cut and generated.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/planner/generate.hpp>
#include <ashlar/detail/planner/greedy.hpp>
#include <ashlar/detail/planner/make_instance.hpp>
#include <ashlar/plan/solve.hpp>

namespace {

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;
using plan::buffer;

TEST(instance, is_cut_where_nothing_crosses_unless_a_pair_ties_the_sides) {
  plan::problem p{
      .buffers = {buffer::half_open(0, 1, 0, 2), buffer::half_open(1, 1, 2, 3), buffer::half_open(2, 1, 4, 5)}};
  const planner::instance free = planner::make_instance(p);
  EXPECT_EQ(planner::parts_of(free).size(), 3u);
  p.apart.push_back({0, 2});
  const planner::instance tied = planner::make_instance(p);
  EXPECT_EQ(planner::parts_of(tied).size(), 2u);
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

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;

plan::problem three_sections() {
  return {.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5), buffer::half_open(2, 8, 4, 6)}};
}

TEST(make_instance, makes_a_section_of_each_maximal_set_of_items_live_together) {
  const planner::instance all = planner::make_instance(three_sections());
  EXPECT_EQ(all.sections, 2u);
  EXPECT_EQ(all.begin(1)->first, 0u);
  EXPECT_EQ(all.begin(1)->last, 2u);
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

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;

TEST(generate, cuts_boxes_that_are_full_at_every_moment) {
  const plan::problem p = planner::generate_perfect(100, 64, 80, 16, 1);
  EXPECT_FALSE(plan::check(p));
  for (std::uint64_t t = 0; t < 80; ++t) {
    std::uint64_t load = 0;
    for (const plan::buffer& b : p.buffers) load += b.birth <= t && t < b.death ? b.size : 0;
    ASSERT_EQ(load, 64u * 16u) << t;
  }
}

TEST(generate, makes_sound_problems_of_the_size_asked_for) {
  EXPECT_FALSE(plan::check(planner::generate_random(5000, 1)));
  EXPECT_FALSE(plan::check(planner::generate_frame(5000, 1)));
  EXPECT_FALSE(plan::check(planner::generate_training(5000, 1)));
  EXPECT_EQ(planner::generate_training(5000, 1).buffers.size(), 5000u);
  EXPECT_EQ(plan::solve(planner::generate_nearly_infeasible(30, 64, 80, 16, 1), {.capacity = 1024}).status,
            plan::status::infeasible);
}

namespace planner = ashlar::detail::planner;

TEST(splitmix, gives_the_numbers_that_are_published_for_its_seed) {
  planner::splitmix random(1234567);
  EXPECT_EQ(random(), 6457827717110365317u);
  EXPECT_EQ(random(), 3203168211198807973u);
  EXPECT_LT(random.below(10), 10u);
}

TEST(instance, pads_all_but_the_highest_to_the_common_alignment) {
  const plan::problem p{.buffers = {buffer::half_open(0, 10, 0, 3, 16), buffer::half_open(1, 10, 0, 3, 32)}};
  const planner::instance all = planner::make_instance(p);
  EXPECT_EQ(planner::load_bound_of(planner::whole_of(all)).height, 26u);
}

}  // namespace
