// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A buffer in the planner's view: a size in bytes, live from one moment to another.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::plan {

/// One buffer, live in `[birth, death)`: a buffer may reuse the bytes of one that dies at its birth. Sizes are in
/// bytes; the caller chooses the unit of moments (operators, passes, nanoseconds).
struct buffer {
  std::uint64_t id = 0;
  std::uint64_t size = 0;
  std::uint64_t alignment = 1;
  std::uint64_t birth = 0;
  std::uint64_t death = 0;

  /// Live in `[birth, death)`.
  [[nodiscard]] static constexpr buffer half_open(std::uint64_t id, std::uint64_t size, std::uint64_t birth,
                                                  std::uint64_t death, std::uint64_t alignment = 1) noexcept {
    return {id, size, alignment, birth, death};
  }

  /// Used first at `first` and last at `last`, both included, the convention of TFLite, IREE, Halide and XLA. Expects:
  /// `last` is less than the greatest 64-bit number.
  [[nodiscard]] static constexpr buffer inclusive(std::uint64_t id, std::uint64_t size, std::uint64_t first,
                                                  std::uint64_t last, std::uint64_t alignment = 1) noexcept {
    return {id, size, alignment, first, last + 1};
  }

  friend constexpr bool operator==(const buffer&, const buffer&) = default;
};

/// Returns: whether two buffers are live at a common moment.
[[nodiscard]] constexpr bool live_together(const buffer& a, const buffer& b) noexcept {
  return a.birth < b.death && b.birth < a.death;
}

}  // namespace ashlar::ASHLAR_ABI::plan
