// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of backtraces: the first frame is the requested one, and no write exceeds the given memory.
#include <ashlar/detail/system/backtrace.hpp>

#include <array>
#include <cstddef>
#include <span>

#include <gtest/gtest.h>

#include <ashlar/detail/support/hints.hpp>

namespace {

using ashlar::detail::backtrace;

struct seen {
  const void* caller = nullptr;
  std::array<const void*, 16> frames{};
  std::size_t count = 0;
};

ASHLAR_NOINLINE seen look(std::size_t most) {
  seen s;
  s.caller = ASHLAR_RETURN_ADDRESS();
  s.count = backtrace(std::span(s.frames).first(most), s.caller);
  return s;
}

TEST(backtrace, starts_at_the_frame_asked_for) {
  const seen s = look(16);
  if (s.count == 0) GTEST_SKIP() << "no unwind tables";
  EXPECT_EQ(s.frames[0], s.caller);
  EXPECT_LE(s.count, 16U);
}

TEST(backtrace, fills_no_more_than_there_is_room) {
  const seen two = look(2);
  EXPECT_LE(two.count, 2U);
  EXPECT_EQ(two.frames[2], nullptr);
  EXPECT_EQ(look(0).count, 0U);
}

TEST(backtrace, an_address_that_is_no_frame_means_from_here) {
  std::array<const void*, 4> frames{};
  const int nothing = 0;
  const std::size_t count = backtrace(frames, &nothing);
  EXPECT_EQ(count != 0, look(4).count != 0);
}

ASHLAR_NOINLINE const void* first_from_here(const void*& mine) {
  mine = ASHLAR_RETURN_ADDRESS();
  std::array<const void*, 2> frames{};
  const std::size_t count = backtrace(frames, nullptr);
  return count == 2 ? frames[1] : nullptr;
}

TEST(backtrace, without_an_address_starts_at_the_caller) {
  const void* expected = nullptr;
  const void* const second = first_from_here(expected);
  if (second == nullptr) GTEST_SKIP() << "no unwind tables";
  EXPECT_EQ(second, expected) << "the first is in the function that asked";
}

}  // namespace
