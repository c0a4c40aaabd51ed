// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of plans as types: from the planner at compile time, from a written table, from the start of the program.
#include <ashlar/heap/static_plan.hpp>

#include <cstddef>

#include <gtest/gtest.h>

#include "tests/support/static_plans.hpp"

namespace {

using namespace ashlar_test::static_plans;

static_assert(with_lives::has_lives && with_lives::alignment() == 64 && with_lives::size_of(1) == 32);
static_assert(with_lives::is_live(2, 2) && !with_lives::is_live(2, 4));
static_assert(!of_table::has_lives && of_table::alignment() == 32 && of_table::bytes() == 178);
static_assert(of_table::size_of(1) == 50 && of_table::is_live(1, 99));

TEST(static_plan, made_when_the_program_starts_is_the_one_made_by_the_compiler) {
  ASSERT_EQ(of_start::count(), with_lives::count());
  EXPECT_EQ(of_start::bytes(), with_lives::bytes());
  EXPECT_EQ(of_start::alignment(), 64u);
  for (std::size_t i = 0; i < of_start::count(); ++i) {
    EXPECT_EQ(of_start::size_of(i), with_lives::size_of(i));
    EXPECT_EQ(of_start::offset_of(i) % lives[i].alignment, 0u);
  }
}

}  // namespace
