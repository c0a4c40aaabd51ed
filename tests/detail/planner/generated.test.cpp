// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of generated problems, of wishes, of windows around peaks, and of the table of states that a search has failed
// in.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/planner/generate.hpp>
#include <ashlar/detail/planner/greedy.hpp>
#include <ashlar/detail/planner/make_instance.hpp>
#include <ashlar/detail/planner/search_limits.hpp>
#include <ashlar/detail/planner/space_planner.hpp>
#include <ashlar/plan/solve.hpp>
#include <ashlar/plan/validate.hpp>

namespace {

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

TEST(splitmix, gives_the_numbers_that_are_published_for_its_seed) {
  planner::splitmix random(1234567);
  EXPECT_EQ(random(), 6457827717110365317u);
  EXPECT_EQ(random(), 3203168211198807973u);
  EXPECT_LT(random.below(10), 10u);
}

TEST(greedy, stays_close_to_wishes_that_fit_and_moves_the_others) {
  const planner::instance all =
      planner::make_instance({.buffers = {plan::buffer::half_open(0, 10, 0, 3), plan::buffer::half_open(1, 6, 2, 5),
                                          plan::buffer::half_open(2, 8, 4, 6)}});
  const planner::placement kept = planner::stay_close(planner::whole_of(all), {6, 0, 3}, 16);
  EXPECT_EQ(kept.offsets, (std::vector<std::uint64_t>{6, 16, 3}));
}

TEST(descent, lowers_a_bad_placement_window_by_window_and_keeps_it_valid) {
  const plan::problem p = planner::generate_perfect(120, 64, 400, 4, 11);
  const planner::instance all = planner::make_instance(p);
  const planner::part whole = planner::whole_of(all);
  planner::placement now = planner::place_in_order(whole, planner::sorted_by(whole, planner::order::birth));
  const std::uint64_t before = now.height;
  planner::budget effort(60'000);
  plan::statistics stats;
  planner::lower_peaks(whole, now, 256, effort, stats);
  EXPECT_LT(now.height, before);
  plan::layout l;
  l.offsets = now.offsets;
  l.height = now.height;
  EXPECT_FALSE(plan::validate(p, l));
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
