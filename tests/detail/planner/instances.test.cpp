// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of problems and of what a search keeps: instances, occupied places, sums, and its limits.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/planner/generate.hpp>
#include <ashlar/detail/planner/greedy.hpp>
#include <ashlar/detail/planner/make_instance.hpp>
#include <ashlar/detail/planner/search_limits.hpp>
#include <ashlar/detail/planner/search_state.hpp>
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

TEST(occupancy, finds_what_a_plain_list_of_rectangles_finds) {
  struct rectangle {
    std::uint32_t first, last;
    planner::byte_range bytes;
  };
  planner::splitmix random(4);
  planner::occupancy taken(37);
  std::vector<rectangle> all;
  std::vector<const planner::range_list*> lists;
  std::vector<planner::range_cursor> cursors;
  for (int k = 0; k < 600; ++k) {
    const auto first = static_cast<std::uint32_t>(random.below(37));
    const auto last = first + 1 + static_cast<std::uint32_t>(random.below(37 - first));
    const std::uint64_t size = 1 + random.below(9), alignment = std::uint64_t{1} << random.below(4);
    lists.clear();
    taken.collect(first, last, lists);
    std::uint64_t expected = 0;
    const auto hit = [&](const rectangle& r) {
      return r.first < last && first < r.last && r.bytes.begin < expected + size && expected < r.bytes.end;
    };
    while (std::any_of(all.begin(), all.end(), hit)) expected += alignment;
    ASSERT_EQ(planner::lowest_fit(lists, 0, size, alignment, cursors), expected) << k;
    all.push_back({first, last, {expected, expected + size}});
    taken.insert(first, last, all.back().bytes);
  }
}

TEST(skyline, knows_the_greatest_height_of_any_range) {
  planner::splitmix random(3);
  for (const std::uint32_t sections : {1u, 2u, 7u, 64u, 100u}) {
    planner::skyline line(sections);
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

TEST(budget, ends_after_its_nodes) {
  planner::budget b(2);
  EXPECT_TRUE(b.spend());
  EXPECT_TRUE(b.spend());
  EXPECT_FALSE(b.spend());
  EXPECT_TRUE(b.exhausted());
}

TEST(budget, charges_what_its_slices_spend) {
  planner::budget b(5);
  planner::budget slice = b.slice(3);
  while (slice.spend()) {
  }
  b.charge(slice);
  EXPECT_EQ(b.spent(), 3u);
  EXPECT_FALSE(b.exhausted());
}

TEST(budget, ends_on_request) {
  const std::atomic<bool> stop{true};
  EXPECT_TRUE(planner::budget(100, planner::budget::clock::time_point::max(), &stop).exhausted());
}

TEST(failed_states, tells_keys_of_equal_hash_apart) {
  planner::failed_states s;
  s.insert(1, {1, 2});
  EXPECT_TRUE(s.contains(1, {1, 2}));
  EXPECT_FALSE(s.contains(1, {1, 3}));
  EXPECT_FALSE(s.contains(1, {1}));
}

TEST(failed_states, keeps_all_while_it_grows_and_none_beyond_its_limit) {
  planner::failed_states s(6000);
  for (std::uint64_t k = 1; k <= 4000; ++k) s.insert(k % 100, {k, k});
  EXPECT_EQ(s.size(), 3000u);
  for (std::uint64_t k = 1; k <= 3000; ++k) EXPECT_TRUE(s.contains(k % 100, {k, k}));
  EXPECT_FALSE(s.contains(1, {3001, 3001}));
}

}  // namespace
