// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the stack table and of the search for a module.
#include <ashlar/base/trace_tables.hpp>

#include <array>

#include <gtest/gtest.h>

namespace {

using namespace ashlar::trace;

TEST(tables, stacks_are_found_by_id_and_unknown_ones_are_empty) {
  stack_table t;
  const std::array<std::uint64_t, 2> first{10, 20};
  const std::array<std::uint64_t, 1> second{30};
  EXPECT_EQ(t.add(first), 1U);
  EXPECT_EQ(t.add({}), 2U);
  EXPECT_EQ(t.add(second), 3U);
  EXPECT_EQ(t.size(), 3U);
  ASSERT_EQ(t[1].size(), 2U);
  EXPECT_EQ(t[1][1], 20U);
  EXPECT_TRUE(t[2].empty());
  EXPECT_EQ(t[3][0], 30U);
  EXPECT_TRUE(t[0].empty() && t[4].empty() && t[0xffff'ffff].empty());
}

TEST(tables, the_module_mapped_last_wins) {
  const std::array<mapped_module, 3> modules{mapped_module{.begin = 100, .end = 200, .path = "a", .build_id = ""},
                                             mapped_module{.begin = 200, .end = 300, .path = "b", .build_id = ""},
                                             mapped_module{.begin = 150, .end = 180, .path = "c", .build_id = ""}};
  EXPECT_EQ(find_module(modules, 100)->path, "a");
  EXPECT_EQ(find_module(modules, 160)->path, "c");
  EXPECT_EQ(find_module(modules, 299)->path, "b");
  EXPECT_EQ(find_module(modules, 300), nullptr);
  EXPECT_EQ(find_module({}, 0), nullptr);
}

}  // namespace
