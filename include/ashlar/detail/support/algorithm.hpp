// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The four algorithms that most headers need, without the compile time of <algorithm>.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

// <algorithm> adds half of <functional> and 700 KB of text to a translation unit.

template <class T>
[[nodiscard]] constexpr T min(T a, T b) noexcept {
  return b < a ? b : a;
}

template <class T>
[[nodiscard]] constexpr T max(T a, T b) noexcept {
  return a < b ? b : a;
}

template <class T>
[[nodiscard]] constexpr T min(T a, T b, T c) noexcept {
  return min(min(a, b), c);
}

template <class T>
[[nodiscard]] constexpr T max(T a, T b, T c) noexcept {
  return max(max(a, b), c);
}

/// Returns: `value` limited to [low, high]. Expects: `low <= high`.
template <class T>
[[nodiscard]] constexpr T clamp(T value, T low, T high) noexcept {
  return value < low ? low : high < value ? high : value;
}

/// Effects: assigns `value` to `count` elements from `first`.
template <class T>
constexpr void fill_n(T* first, std::size_t count, T value = {}) noexcept {
  for (; count != 0; --count) *first++ = value;
}

}  // namespace ashlar::ASHLAR_ABI::detail
