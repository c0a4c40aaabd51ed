// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the four algorithms against those of the standard.
#include <ashlar/detail/support/algorithm.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

namespace {

namespace detail = ashlar::detail;

constexpr std::array values = {-3, 0, 1, 7};

TEST(Algorithm, MinAndMaxAreThoseOfTheStandard) {
  for (const int a : values)
    for (const int b : values) {
      EXPECT_EQ(detail::min(a, b), std::min(a, b));
      EXPECT_EQ(detail::max(a, b), std::max(a, b));
      for (const int c : values) {
        EXPECT_EQ(detail::min(a, b, c), std::min({a, b, c}));
        EXPECT_EQ(detail::max(a, b, c), std::max({a, b, c}));
      }
    }
}

TEST(Algorithm, ClampIsThatOfTheStandard) {
  for (int value = -4; value != 9; ++value)
    for (const int low : values)
      for (const int high : values)
        if (low <= high) EXPECT_EQ(detail::clamp(value, low, high), std::clamp(value, low, high));
}

TEST(Algorithm, FillAssignsAsManyAsItIsTold) {
  for (std::size_t count = 0; count <= 4; ++count) {
    std::array<std::uint16_t, 5> filled = {1, 1, 1, 1, 1};
    detail::fill_n(filled.data(), count, std::uint16_t{9});
    for (std::size_t i = 0; i != filled.size(); ++i) EXPECT_EQ(filled[i], i < count ? 9 : 1);
  }
}

static_assert(detail::max<std::size_t>(1, 2) == 2 && detail::clamp<std::size_t>(9, 1, 4) == 4);

}  // namespace
