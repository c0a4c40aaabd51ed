// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of budgets and of the set of failed states.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

#include <ashlar/detail/planner/search_limits.hpp>

namespace {

namespace planner = ashlar::detail::planner;

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
