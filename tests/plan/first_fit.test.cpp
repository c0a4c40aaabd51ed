// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of greedy placement.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <ashlar/plan/first_fit.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

plan::model three_to_fit() {
  return plan::make_model(plan::make_shapes(
      {.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5), buffer::half_open(2, 8, 4, 6)}}));
}

TEST(first_fit, places_pins_first_and_the_rest_as_low_as_it_goes) {
  plan::model m = three_to_fit();
  m.items[1].pin = 4;
  const plan::placement p = plan::place_in_order(m, {0, 1, 2});
  EXPECT_EQ(p.offsets, (std::vector<std::uint64_t>{10, 4, 10}));
  EXPECT_EQ(p.height, 20u);
}

}  // namespace
