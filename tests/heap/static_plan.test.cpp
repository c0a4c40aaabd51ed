// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of plans known by their type: of the planner at compile time, of a written table, of the program's start.
#include <ashlar/heap/static_plan.hpp>

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/plan/pack.hpp>
#include <ashlar/plan/solve.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

constexpr std::array<buffer, 3> lives{buffer::half_open(0, 64, 0, 2, 64), buffer::half_open(1, 32, 1, 3, 8),
                                      buffer::half_open(2, 64, 2, 4, 8)};
constexpr auto layout = plan::solve(lives);
using with_lives = ashlar::static_plan<layout, lives>;

// As `ashlar plan --header` writes it.
struct table {
  std::array<std::uint64_t, 2> ids, offsets, sizes;
  std::uint64_t height, alignment;
};
constexpr table written{{7, 8}, {0, 128}, {100, 50}, 178, 32};
using of_table = ashlar::static_plan<written>;

const plan::problem problem{.buffers = {lives.begin(), lives.end()}};
const plan::layout made = plan::solve(problem);
using of_start = ashlar::static_plan<made, problem.buffers>;

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
