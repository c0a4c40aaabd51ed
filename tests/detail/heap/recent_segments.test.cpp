// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the cache of segments: it finds noted ones, neighbours included, and forgets them when cleared.
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/recent_segments.hpp>

namespace {

const void* window(std::uintptr_t number, std::size_t at = 0) {
  return reinterpret_cast<const void*>(number * ashlar::detail::window_bytes + at);
}

TEST(recent_segments, knows_what_was_noted_and_nothing_else) {
  ashlar::detail::recent_segments segments;
  EXPECT_FALSE(segments.has(nullptr));
  for (std::uintptr_t number = 100; number < 116; ++number) segments.note(window(number, number));
  for (std::uintptr_t number = 100; number < 116; ++number)
    EXPECT_TRUE(segments.has(window(number)) && segments.has(window(number, ashlar::detail::window_bytes - 1)));
  EXPECT_FALSE(segments.has(window(99)) || segments.has(window(116)) || segments.has(nullptr));
  segments.note(window(116));
  EXPECT_TRUE(segments.has(window(116)));
  segments.clear();
  for (std::uintptr_t number = 99; number < 117; ++number) EXPECT_FALSE(segments.has(window(number)));
}

}  // namespace
