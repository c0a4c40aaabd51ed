// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the names of a layout's verdicts, and of the successions of bytes between buffers.
#include <gtest/gtest.h>

#include <vector>

#include <ashlar/base/layout.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

TEST(layout, names_verdicts_and_proofs) {
  EXPECT_EQ(name_of(plan::status::infeasible), "infeasible");
  EXPECT_EQ(name_of(plan::proof::exhaustion), "exhaustion");
  EXPECT_FALSE(plan::layout{}.optimal());
}

TEST(successions, name_the_last_holder_only) {
  const plan::problem p{.buffers = {buffer::half_open(0, 8, 0, 1), buffer::half_open(1, 4, 1, 2),
                                    buffer::half_open(2, 8, 2, 3), buffer::half_open(3, 2, 0, 9)}};
  plan::layout l;
  l.offsets = {0, 0, 0, 8};
  l.height = 10;
  EXPECT_EQ(plan::successions(p, l), (std::vector<plan::pair>{{0, 1}, {1, 2}, {0, 2}}));
}

TEST(successions, keep_both_ends_of_a_holder_taken_over_in_its_middle) {
  const plan::problem p{.buffers = {buffer::half_open(0, 9, 0, 1), buffer::half_open(1, 3, 1, 2),
                                    buffer::half_open(2, 3, 2, 3), buffer::half_open(3, 3, 2, 3)}};
  plan::layout l;
  l.offsets = {0, 3, 0, 6};
  l.height = 9;
  EXPECT_EQ(plan::successions(p, l), (std::vector<plan::pair>{{0, 1}, {0, 2}, {0, 3}}));
}

}  // namespace
