// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the error value.
#include <ashlar/base/trace_tables.hpp>

#include <gtest/gtest.h>

namespace {

TEST(error, holds_offsets_beyond_four_gigabytes) {
  const ashlar::trace::trace_error e{.offset = std::uint64_t{5} << 32, .message = "cut off"};
  EXPECT_EQ(e.offset >> 32, 5U);
  EXPECT_EQ(e, (ashlar::trace::trace_error{e.offset, "cut off"}));
}

}  // namespace
