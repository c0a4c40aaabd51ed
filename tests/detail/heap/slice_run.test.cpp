// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of new memory that is zero, or becomes it.
#include <ashlar/detail/heap/slice_run.hpp>

#include <algorithm>
#include <cstddef>

#include <gtest/gtest.h>

namespace {

TEST(slice_run, is_cleared_unless_it_is_zero_or_nothing) {
  std::byte bytes[4] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  EXPECT_EQ(ashlar::detail::zeroed({bytes, true}, 4), bytes);
  EXPECT_EQ(bytes[0], std::byte{1}) << "not written to";
  EXPECT_EQ(ashlar::detail::zeroed({bytes, false}, 3), bytes);
  EXPECT_EQ(std::count(bytes, bytes + 4, std::byte{0}), 3);
  EXPECT_EQ(ashlar::detail::zeroed({}, 4), nullptr);
}

}  // namespace
