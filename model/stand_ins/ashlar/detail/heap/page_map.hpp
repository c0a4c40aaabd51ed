// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: the size of a window, and an empty window.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

inline constexpr std::size_t window_bytes = std::size_t{4} << 20;

struct window {
  std::byte* start = nullptr;

  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return 0; }
  [[nodiscard]] constexpr bool is_segment() const noexcept { return true; }
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
