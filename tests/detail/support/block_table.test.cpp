// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the table of blocks.
#include <ashlar/detail/support/block_table.hpp>

#include <cstddef>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::block_table;

TEST(block_table, values_are_new_and_stay_where_they_are) {
  block_table<int> table;
  EXPECT_EQ(table.size(), 0U);
  table.reach(0);
  int& first = table[0];
  EXPECT_EQ(first, 0);
  first = 7;
  table.reach(100'000);
  EXPECT_GT(table.size(), 100'000U);
  EXPECT_EQ(&table[0], &first);
  EXPECT_EQ(table[0], 7);
  for (std::size_t i = 1; i < table.size(); ++i) ASSERT_EQ(table[i], 0);
}

}  // namespace
