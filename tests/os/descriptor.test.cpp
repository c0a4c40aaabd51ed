// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of complete writes: the contents of a pipe, the result for a closed one, and an unchanged errno.
#include <ashlar/os/descriptor.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>

#include <unistd.h>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::write_all;

TEST(descriptor, writes_all_of_it) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  EXPECT_TRUE(write_all(ends[1], "one line\n"));
  EXPECT_TRUE(write_all(ends[1], ""));
  std::array<char, 64> got{};
  const auto count = ::read(ends[0], got.data(), got.size());
  EXPECT_EQ(std::string_view(got.data(), static_cast<std::size_t>(count)), "one line\n");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(descriptor, fails_if_nothing_can_be_written_and_preserves_errno) {
  errno = 42;
  EXPECT_FALSE(write_all(-1, "lost\n"));
  EXPECT_EQ(errno, 42);
}

}  // namespace
