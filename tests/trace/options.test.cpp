// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the reader's defaults.
#include <ashlar/trace/options.hpp>

#include <gtest/gtest.h>

namespace {

TEST(options, damage_is_refused_unless_asked) {
  EXPECT_FALSE(ashlar::trace::reader_options{}.accept_prefix);
  EXPECT_GT(ashlar::trace::reader_options{}.skew_ns, 0U);
}

}  // namespace
