// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that threads share lanes in turn, never at the same time.
#include <ashlar/detail/replay/lane_table.hpp>

#include <cstdint>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::lane_table;

TEST(lane_table, a_thread_keeps_its_lane_and_the_next_one_inherits_it) {
  lane_table t;
  EXPECT_EQ(t.lane_of(0), 0u);
  EXPECT_EQ(t.lane_of(5), 1u);
  EXPECT_EQ(t.lane_of(0), 0u);
  EXPECT_EQ(t.end(5), 1u);
  EXPECT_EQ(t.lane_of(6), 1u);
  EXPECT_EQ(t.lane_of(7), 2u);
  EXPECT_EQ(t.count(), 3u);
  EXPECT_EQ(t.ended(), 1u);
}

TEST(lane_table, the_first_lane_is_never_passed_on) {
  lane_table t;
  EXPECT_EQ(t.lane_of(3), 0u);
  EXPECT_EQ(t.end(3), lane_table::none);
  EXPECT_EQ(t.lane_of(4), 1u);
  EXPECT_EQ(t.lane_of(3), 0u);
  EXPECT_EQ(t.ended(), 0u);
}

TEST(lane_table, events_after_the_end_of_a_thread_take_no_lane) {
  lane_table t;
  EXPECT_EQ(t.lane_of(0), 0u);
  for (std::uint32_t thread = 1; thread < 1000; ++thread) {
    EXPECT_EQ(t.lane_of(thread), 1u);
    EXPECT_EQ(t.end(thread), 1u);
    EXPECT_EQ(t.lane_of(thread), 1u);
    EXPECT_EQ(t.end(thread), lane_table::none);
  }
  EXPECT_EQ(t.count(), 2u);
}

TEST(lane_table, any_thread_number_will_do) {
  lane_table t;
  EXPECT_EQ(t.end(3), lane_table::none);
  EXPECT_EQ(t.lane_of(~std::uint32_t{0}), 0u);
  EXPECT_EQ(t.lane_of(std::uint32_t{1} << 31), 1u);
}

}  // namespace
