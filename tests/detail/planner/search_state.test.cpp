// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of floors, inferences and undo.
#include <gtest/gtest.h>

#include <cstddef>

#include <ashlar/detail/planner/make_instance.hpp>
#include <ashlar/detail/planner/search_state.hpp>

namespace {

namespace plan = ashlar::plan;
namespace planner = ashlar::detail::planner;
using plan::buffer;

plan::problem three_to_search() {
  return {.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5), buffer::half_open(2, 8, 4, 6)}};
}

planner::section_table table_to_search() {
  const planner::instance all = planner::make_instance(three_to_search());
  return planner::make_table(planner::whole_of(all));
}

TEST(search_state, raises_what_overlaps_and_takes_it_back) {
  planner::search_state s(table_to_search(), 24);
  ASSERT_TRUE(s.reset());
  const std::size_t mark = s.mark();
  ASSERT_TRUE(s.place(0));
  EXPECT_TRUE(s.placed(0));
  EXPECT_EQ(s.floor(1), 5);
  EXPECT_EQ(s.section(0).live, 1u);
  s.undo(mark);
  EXPECT_EQ(s.floor(1), 0);
  EXPECT_EQ(s.section(0).live, 2u);
}

TEST(search_state, sees_at_once_that_a_load_does_not_fit) {
  planner::search_state s(table_to_search(), 14);
  EXPECT_FALSE(s.reset());
}

}  // namespace
