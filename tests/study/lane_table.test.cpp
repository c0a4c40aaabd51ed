// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that threads share lanes in turn and never at once.
#include <ashlar/study/lane_table.hpp>

#include <cstdint>

#include <gtest/gtest.h>

namespace {

using ashlar::study::lane_table;

TEST(lane_table, a_thread_keeps_its_lane_and_the_next_one_inherits_it) {
  lane_table t;
  EXPECT_EQ(t.lane_of(0), 0u);
  EXPECT_EQ(t.lane_of(5), 1u);
  EXPECT_EQ(t.lane_of(0), 0u);
  t.end(0);
  EXPECT_EQ(t.lane_of(6), 0u);
  EXPECT_EQ(t.lane_of(7), 2u);
  EXPECT_EQ(t.count(), 3u);
}

TEST(lane_table, any_thread_number_will_do) {
  lane_table t;
  t.end(3);
  EXPECT_EQ(t.lane_of(~std::uint32_t{0}), 0u);
  EXPECT_EQ(t.lane_of(std::uint32_t{1} << 31), 1u);
}

}  // namespace
