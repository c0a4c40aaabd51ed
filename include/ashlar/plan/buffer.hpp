// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A buffer as the planner sees it: so many bytes, needed from one moment until another.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

/// One buffer. It is live in `[birth, death)`: two buffers of which one dies when the other is born may share bytes.
/// Sizes are in bytes; moments count whatever the caller counts (operators, passes, nanoseconds).
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

  /// Used first at `first` and last at `last`, both included, as TFLite, IREE, Halide and XLA count.
  /// Expects: `last` is less than the greatest 64-bit number.
  [[nodiscard]] static constexpr buffer inclusive(std::uint64_t id, std::uint64_t size, std::uint64_t first,
                                                  std::uint64_t last, std::uint64_t alignment = 1) noexcept {
    return {id, size, alignment, first, last + 1};
  }

  friend constexpr bool operator==(const buffer&, const buffer&) = default;
};

/// Whether the lives of two buffers have a moment in common.
[[nodiscard]] constexpr bool live_together(const buffer& a, const buffer& b) noexcept {
  return a.birth < b.death && b.birth < a.death;
}

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
