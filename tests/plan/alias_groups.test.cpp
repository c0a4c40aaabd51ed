// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of groups of buffers at one offset.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <ashlar/plan/alias_groups.hpp>

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

TEST(alias_groups, follows_chains_of_pairs) {
  plan::problem p;
  for (std::uint64_t i = 0; i < 5; ++i) p.buffers.push_back(buffer::half_open(i, 1, 0, 1));
  p.aliases = {{4, 2}, {2, 0}};
  EXPECT_EQ(plan::group_aliases(p), (std::vector<plan::position>{0, 1, 0, 3, 0}));
}

}  // namespace
