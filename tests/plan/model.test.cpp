// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of sections.
#include <gtest/gtest.h>

#include <ashlar/plan/model.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

plan::model three_modelled() {
  return plan::make_model(plan::make_shapes(
      {.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 2, 5), buffer::half_open(2, 8, 4, 6)}}));
}

TEST(model, has_a_section_for_each_maximal_set_of_items_live_together) {
  const plan::model m = three_modelled();
  EXPECT_EQ(m.sections, 2u);
  EXPECT_EQ(m.begin(1)->first, 0u);
  EXPECT_EQ(m.begin(1)->last, 2u);
  EXPECT_TRUE(m.simple());
}

TEST(model, gives_a_pair_to_be_kept_apart_a_section_of_its_own) {
  plan::problem p{.buffers = {buffer::half_open(0, 10, 0, 3), buffer::half_open(1, 6, 3, 5)}};
  p.apart.push_back({0, 1});
  const plan::model m = plan::make_model(plan::make_shapes(p));
  EXPECT_EQ(m.sections, 3u);
  EXPECT_EQ(m.begin(0)[1].first, 2u);
  EXPECT_EQ(m.begin(1)[1].last, 3u);
}

}  // namespace
