// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the words for what is known about a layout.
#include <gtest/gtest.h>

#include <ashlar/plan/layout.hpp>

namespace {

namespace plan = ashlar::plan;

TEST(layout, names_verdicts_and_proofs) {
  EXPECT_EQ(name_of(plan::status::infeasible), "infeasible");
  EXPECT_EQ(name_of(plan::proof::exhaustion), "exhaustion");
  EXPECT_FALSE(plan::layout{}.optimal());
}

}  // namespace
