// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the exhaustion policies: the two of them satisfy the concept, and no other type does.
#include <ashlar/base/options.hpp>

#include <gtest/gtest.h>

namespace {

struct no_answer {};

TEST(exhausted, there_are_two_answers) {
  EXPECT_TRUE(ashlar::throw_when_exhausted::throws);
  EXPECT_FALSE(ashlar::null_when_exhausted::throws);
  EXPECT_FALSE(ashlar::policy::exhaustion<no_answer>);
}

}  // namespace
