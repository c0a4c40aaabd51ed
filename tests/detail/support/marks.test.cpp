// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of conditions that are expected, and of marks on memory.
#include <cstddef>
#include <memory>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/support/poison.hpp>

#include "tests/support/build.hpp"
#include "tests/support/death.hpp"
#include "tests/support/forbidden.hpp"
#include "tests/support/pattern.hpp"

namespace {

void require(bool condition) { ASHLAR_REQUIRE(condition, "asked for nothing"); }
void expects(bool condition) { ASHLAR_EXPECTS(condition, "asked too early"); }
void promise(bool all_is_well) { ASHLAR_ASSERT(all_is_well); }

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

constexpr std::size_t bytes = 64;

static_assert(!ashlar_test::has_asan || ashlar::detail::marks_memory);

class poison : public ::testing::Test {
protected:
  std::unique_ptr<unsigned char[]> memory_ = std::make_unique<unsigned char[]>(bytes);

  [[nodiscard]] bool all_forbidden(std::size_t from, std::size_t to) const {
    return ashlar_test::forbidden_bytes(memory_.get() + from, to - from) == to - from;
  }
  [[nodiscard]] bool all_allowed(std::size_t from, std::size_t to) const {
    return ashlar_test::forbidden_bytes(memory_.get() + from, to - from) == 0;
  }
};

TEST_F(poison, marks_exactly_the_range) {
  ashlar::detail::mark_free(memory_.get() + 16, 32);
  EXPECT_TRUE(all_allowed(0, 16));
  EXPECT_EQ(all_forbidden(16, 48), ashlar_test::has_asan);
  EXPECT_TRUE(all_allowed(48, bytes));
  ashlar::detail::mark_live(memory_.get() + 16, 16);
  EXPECT_TRUE(all_allowed(0, 32));
  EXPECT_EQ(all_forbidden(32, 48), ashlar_test::has_asan);
  ashlar::detail::mark_readable(memory_.get() + 32, 16);
  EXPECT_TRUE(all_allowed(0, bytes));
}

TEST_F(poison, leaves_bytes_alone_that_share_a_mark_with_those_of_others) {
  ashlar::detail::mark_free_before_others(memory_.get() + 18, 18);
  EXPECT_EQ(all_forbidden(18, 32), ashlar_test::has_asan);
  ashlar::detail::mark_free_before_others(memory_.get() + 50, 5);
  EXPECT_TRUE(all_allowed(48, bytes));
  if constexpr (ashlar::detail::always_marked) EXPECT_TRUE(all_allowed(32, 36));
  ashlar::detail::mark_live(memory_.get(), bytes);
}

TEST_F(poison, changes_no_byte) {
  ashlar_test::write_pattern(memory_.get(), bytes, 1);
  ashlar::detail::mark_free(memory_.get(), bytes);
  ashlar::detail::mark_readable(memory_.get(), bytes);
  EXPECT_TRUE(ashlar_test::has_pattern(memory_.get(), bytes, 1));
}

TEST_F(poison, a_touch_of_free_memory_is_reported) {
  if constexpr (!ashlar_test::has_asan) GTEST_SKIP() << "no AddressSanitizer in this build";
  ashlar::detail::mark_free(memory_.get(), bytes);
  EXPECT_DEATH(static_cast<volatile unsigned char*>(memory_.get())[3] = 1, "use-after-poison");
  ashlar::detail::mark_live(memory_.get(), bytes);
}

}  // namespace
