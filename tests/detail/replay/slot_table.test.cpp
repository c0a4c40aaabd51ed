// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that slots rest until their window ends.
#include <ashlar/detail/replay/slot_table.hpp>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::slot_table;

TEST(slot_table, a_slot_given_back_is_taken_again_only_in_the_next_window) {
  slot_table t;
  EXPECT_EQ(t.take(1), 0u);
  EXPECT_EQ(t.give_back(1), 0u);
  EXPECT_EQ(t.take(2), 1u);
  t.end_window();
  EXPECT_EQ(t.take(3), 0u);
  EXPECT_EQ(t.take(4), 2u);
  EXPECT_EQ(t.count(), 3u);
  EXPECT_EQ(t.live(), 3u);
}

TEST(slot_table, knows_what_is_live) {
  slot_table t;
  EXPECT_EQ(t.take(7), 0u);
  EXPECT_EQ(t.take(7), slot_table::none);
  EXPECT_EQ(t.find(7), 0u);
  EXPECT_EQ(t.find(8), slot_table::none);
  EXPECT_EQ(t.find(0), slot_table::none);
  EXPECT_EQ(t.give_back(8), slot_table::none);
  EXPECT_EQ(t.count(), 1u);
}

}  // namespace
