// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the sinks of a trace.
#include <ashlar/trace/sink.hpp>

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace ashlar::trace;

constexpr std::array<std::byte, 2> two{std::byte{1}, std::byte{2}};

TEST(sink, memory_grows) {
  std::vector<std::byte> to;
  memory_sink s(to);
  EXPECT_TRUE(s.write(two) && s.write(two));
  EXPECT_EQ(to.size(), 4U);
}

TEST(sink, what_cannot_be_written_shows_at_once) {
  file_sink nowhere("/no/such/directory/file");
  EXPECT_FALSE(nowhere.write(two));
#if defined(__linux__)
  file_sink full("/dev/full");
  EXPECT_FALSE(full.write(two));
#endif
}

}  // namespace
