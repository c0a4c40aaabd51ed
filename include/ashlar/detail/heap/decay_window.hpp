// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Windows of time in which free memory must have stayed free before it is purged.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/system/coarse_clock.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Consecutive windows of `decay_ms` at least. The first one begins with the first look at the clock. Thread safety:
/// none.
class decay_window {
public:
  explicit constexpr decay_window(std::uint32_t decay_ms) noexcept : decay_ms_(decay_ms) {}

  /// Returns: whether the window is over; then the next one has begun. Without a duration each look ends one.
  [[nodiscard]] ASHLAR_COLD bool is_over() noexcept {
    if (is_instant()) return true;
    const std::uint32_t now = coarse_ms();
    const bool is_over = has_begun_ && now - start_ >= decay_ms_;
    if (!has_begun_ || is_over) start_ = now;
    has_begun_ = true;
    return is_over;
  }

  /// Effects: forgets the window: the next look at the clock begins one.
  void restart() noexcept { has_begun_ = false; }

  /// Returns: whether windows have no duration.
  [[nodiscard]] constexpr bool is_instant() const noexcept { return decay_ms_ == 0; }

private:
  std::uint32_t decay_ms_;
  std::uint32_t start_ = 0;
  bool has_begun_ = false;
};

}  // namespace ashlar::ASHLAR_ABI::detail
