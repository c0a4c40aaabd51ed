// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of offsets of an earlier layout.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <ashlar/plan/keep.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

plan::model three_for_keep() {
  return plan::make_model(plan::make_shapes(
      {.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5), buffer::half_open(2, 8, 4, 6)}}));
}

TEST(keep, keeps_wishes_that_fit_and_moves_the_others) {
  const plan::placement kept = plan::keep_offsets(three_for_keep(), {6, 0, 3}, 16);
  EXPECT_EQ(kept.offsets, (std::vector<std::uint64_t>{6, 16, 3}));
}

}  // namespace
