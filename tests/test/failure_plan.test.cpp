// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the plan of failing allocations.
#include <ashlar/test/ledger.hpp>

#include <new>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::failure_plan;

std::string next_eight(failure_plan& plan) {
  std::string picture;
  for (int i = 0; i < 8; ++i) picture += plan.fails_next() ? '.' : '#';
  return picture;
}

TEST(failure_plan, nothing_fails_before_a_plan) {
  failure_plan plan;
  EXPECT_EQ(next_eight(plan), "########");
  plan.fail_at(3);
  EXPECT_EQ(next_eight(plan), "###.####");
  plan.fail_from(3);
  EXPECT_EQ(next_eight(plan), "###.....");
  plan.fail_never();
  EXPECT_EQ(next_eight(plan), "########");
  plan.fail_at(failure_plan::never);
  EXPECT_EQ(next_eight(plan), "########");
}

static_assert(std::is_base_of_v<std::bad_alloc, ashlar::test::injected_failure>);

TEST(failure_plan, an_injected_failure_names_its_origin) {
  EXPECT_STREQ(ashlar::test::injected_failure().what(), "ashlar::test::injected_failure");
}

}  // namespace
