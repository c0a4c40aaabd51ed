// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of fields and numbers.
#include <gtest/gtest.h>

#include <cstdint>

#include <ashlar/detail/planner/csv_fields.hpp>

namespace {

namespace planner = ashlar::detail::planner;

TEST(csv_fields, keeps_the_column_of_each_trimmed_field) {
  planner::csv_fields f("a, b ,");
  ASSERT_TRUE(f.next());
  EXPECT_EQ(f.field(), "a");
  ASSERT_TRUE(f.next());
  EXPECT_EQ(f.field(), "b");
  EXPECT_EQ(f.column(), 4u);
  ASSERT_TRUE(f.next());
  EXPECT_EQ(f.field(), "");
  EXPECT_FALSE(f.next());
}

TEST(csv_fields, reads_whole_numbers_of_64_bits_only) {
  std::uint64_t n = 0;
  EXPECT_EQ(planner::parse_number("18446744073709551615", n), planner::number_fault::none);
  EXPECT_EQ(n, ~std::uint64_t{0});
  EXPECT_EQ(planner::parse_number("18446744073709551616", n), planner::number_fault::too_large);
  EXPECT_EQ(planner::parse_number("-0", n), planner::number_fault::negative);
}

}  // namespace
