// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of pinned items.
#include <gtest/gtest.h>

#include <ashlar/plan/pinned.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

TEST(pinned, finds_collisions_and_the_height_pins_force) {
  plan::problem p{.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 10, 2, 4)}};
  p.pins = {{0, 0}, {1, 9}};
  EXPECT_TRUE(plan::pins_collide(plan::make_model(plan::make_shapes(p))));
  p.pins[1].offset = 10;
  EXPECT_FALSE(plan::pins_collide(plan::make_model(plan::make_shapes(p))));
  EXPECT_EQ(plan::pinned_height(plan::make_model(plan::make_shapes(p))), 20u);
}

}  // namespace
