// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the table of sizes.
#include <ashlar/study/summary.hpp>

#include <cstdint>

#include <gtest/gtest.h>

namespace {

using ashlar::study::amount;
using ashlar::study::size_table;

TEST(summary, small_sizes_are_exact_and_large_ones_nearly) {
  size_table t;
  t.record(24);
  t.record(24);
  t.record(2047);
  t.record(1000000);
  const auto rows = t.rows();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].least, 24u);
  EXPECT_EQ(rows[0].greatest, 24u);
  EXPECT_EQ(rows[0].sum, (amount{2, 48}));
  EXPECT_EQ(rows[1].least, rows[1].greatest);
  EXPECT_LE(rows[2].least, 1000000u);
  EXPECT_GE(rows[2].greatest, 1000000u);
  EXPECT_LE(rows[2].greatest - rows[2].least, 1000u);
}

TEST(summary, the_largest_size_has_a_place) {
  size_table t;
  t.record(~std::uint64_t{0});
  EXPECT_EQ(t.rows().size(), 1u);
}

}  // namespace
