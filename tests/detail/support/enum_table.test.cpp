// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the tables with a value for each enumerator.
#include <cstdint>
#include <string_view>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/support/enum_table.hpp>

namespace {

using ashlar::detail::enum_count;
using ashlar::detail::enum_table;

enum class three { a, b2, c_3 };
enum class small : std::uint8_t { only };
struct outer {
  enum class inner : unsigned char { no, yes };
};

static_assert(enum_count<three> == 3);
static_assert(enum_count<small> == 1);
static_assert(enum_count<outer::inner> == 2);
static_assert(enum_count<ashlar::fault> == static_cast<std::size_t>(ashlar::fault::leak) + 1);

TEST(enum_table, has_the_values_in_the_order_of_the_enumerators) {
  constexpr enum_table<three, std::string_view> names = {"a", "b2", "c_3"};
  EXPECT_EQ(names[three::a], "a");
  EXPECT_EQ(names[three::c_3], "c_3");
  EXPECT_EQ(names.end() - names.begin(), 3);
}

TEST(enum_table, begins_without_values) {
  enum_table<three, double> figures;
  EXPECT_EQ(figures[three::b2], 0);
  figures[three::b2] = 0.5;
  EXPECT_EQ(figures[three::b2], 0.5);
}

}  // namespace
