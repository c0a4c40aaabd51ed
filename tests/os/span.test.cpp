// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of spans in a program that is not recorded; the tests of `ashlar record` have the other case.
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/os/span.hpp>

namespace {

TEST(span, neither_copies_nor_moves) {
  EXPECT_FALSE(std::is_copy_constructible_v<ashlar::span> || std::is_move_constructible_v<ashlar::span>);
}

TEST(span, does_nothing_without_the_recorder) {
  for (int i = 0; i < 3; ++i) {
    const ashlar::span outer("outer");
    const ashlar::span inner("inner");
  }
  ashlar::os::name_thread("tester");
}

}  // namespace
