// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that marks reach AddressSanitizer if it is on, and change no byte.
#include <ashlar/detail/support/poison.hpp>

#include <cstddef>
#include <memory>

#include <gtest/gtest.h>

#include "tests/support/build.hpp"
#include "tests/support/forbidden.hpp"
#include "tests/support/pattern.hpp"

namespace {

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
