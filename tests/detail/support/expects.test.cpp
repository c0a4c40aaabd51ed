// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the levels at which preconditions are checked, and their messages.
#include <ashlar/detail/support/expects.hpp>

#include <gtest/gtest.h>

#include "tests/support/build.hpp"
#include "tests/support/death.hpp"

namespace {

void require(bool condition) { ASHLAR_REQUIRE(condition, "asked for nothing"); }
void expects(bool condition) { ASHLAR_EXPECTS(condition, "asked too early"); }
void promise(bool all_is_well) { ASHLAR_ASSERT(all_is_well); }

TEST(expects, a_condition_that_holds_is_silent) {
  require(true);
  expects(true);
  promise(true);
}

TEST(expects, requirements_are_checked_at_every_level) {
  ASHLAR_EXPECT_DEATH(require(false), "ashlar: precondition: asked for nothing");
}

TEST(expects, preconditions_and_promises_are_checked_where_checking_is_on) {
  if constexpr (ashlar_test::is_checked) {
    ASHLAR_EXPECT_DEATH(expects(false), "ashlar: precondition: asked too early");
    ASHLAR_EXPECT_DEATH(promise(false), "ashlar: precondition: internal: all_is_well");
  } else {
    expects(false);
    promise(false);
  }
}

TEST(expects, a_condition_is_evaluated_once_or_not_at_all) {
  int evaluated = 0;
  ASHLAR_REQUIRE(++evaluated == 1, "");
  EXPECT_EQ(evaluated, 1);
  ASHLAR_EXPECTS(++evaluated == 2, "");
  EXPECT_EQ(evaluated, ashlar_test::is_checked ? 2 : 1);
}

TEST(expects, stands_where_one_statement_does) {
  bool other = false;
  if (!other) ASHLAR_EXPECTS(true, "");
  else other = true;
  EXPECT_FALSE(other);
}

constexpr int checked_at_compile_time(int n) {
  ASHLAR_REQUIRE(n > 0, "");
  ASHLAR_EXPECTS(n > 0, "");
  return n;
}
static_assert(checked_at_compile_time(1) == 1);

}  // namespace
