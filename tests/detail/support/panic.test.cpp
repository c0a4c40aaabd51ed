// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the error line is exact and bounded, and that abort follows it.
#include <ashlar/detail/support/panic.hpp>

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/death.hpp"

namespace {

using ashlar::detail::panic_line;

std::string number(std::uint64_t value) { return std::string(panic_line().number(value).view()); }

TEST(panic, numbers_are_written_in_full) {
  EXPECT_EQ(number(0), "0");
  EXPECT_EQ(number(9), "9");
  EXPECT_EQ(number(10), "10");
  EXPECT_EQ(number(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  for (std::uint64_t n = 1; n < (std::uint64_t{1} << 63); n = n * 3 + 1) ASSERT_EQ(number(n), std::to_string(n));
}

TEST(panic, addresses_are_hexadecimal) {
  EXPECT_EQ(panic_line().address(nullptr).view(), "0x0");
  EXPECT_EQ(panic_line().address(reinterpret_cast<void*>(0x1f0abc)).view(), "0x1f0abc");
  EXPECT_EQ(panic_line().address(reinterpret_cast<void*>(~std::uintptr_t{0})).view(),
            "0x" + std::string(2 * sizeof(void*), 'f'));
}

TEST(panic, pieces_follow_each_other) {
  EXPECT_EQ(panic_line().text("size ").number(3).text("").text(", end").view(), "size 3, end");
}

TEST(panic, text_past_the_end_is_cut) {
  const std::string longest(panic_line::capacity, 'x');
  EXPECT_EQ(panic_line().text(longest + "y").number(1).view(), longest);
}

TEST(panic, writes_one_line_and_aborts) {
  ASHLAR_EXPECT_DEATH(ashlar::detail::panic("ashlar: last words"), "ashlar: last words");
  ASHLAR_EXPECT_DEATH(ashlar::detail::panic(""), "");
}

TEST(panic, a_line_that_is_too_long_still_ends) {
  const std::string too_long(2 * panic_line::capacity, 'x');
  ::testing::internal::CaptureStderr();
  ashlar::detail::write_error_line(too_long);
  ashlar::detail::write_error_line("next");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), too_long.substr(0, panic_line::capacity - 1) + "\nnext\n");
}

}  // namespace
