// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of planning at compile time.
#include <gtest/gtest.h>

#include <array>

#include <ashlar/plan/pack.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

constexpr std::array<buffer, 4> frame{
    buffer::inclusive(0, 4096, 0, 1),
    buffer::inclusive(1, 1024, 1, 2),
    buffer::inclusive(2, 4096, 2, 3),
    buffer::inclusive(3, 100, 0, 3, 64),
};
constexpr auto layout = plan::solve(frame);
static_assert(layout.height == 5220);
static_assert(layout.optimal());
static_assert(layout.offsets[0] == 0 && layout.offsets[2] == 0, "the first and the third share their bytes");
static_assert(layout.offsets[3] % 64 == 0);

TEST(pack, does_at_run_time_what_it_does_at_compile_time) { EXPECT_EQ(plan::solve(frame).offsets, layout.offsets); }

TEST(pack, plans_nothing) { EXPECT_EQ(plan::solve(std::array<buffer, 0>{}).height, 0u); }

}  // namespace
