// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Growth policies: how large the next block is, as a function of what is held already.
#pragma once

#include <concepts>
#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/base/expects.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

/// Answers one question: with `held` bytes in hand, how many bytes to ask for next.
template <class Policy>
concept growth_policy = requires(const Policy& policy, std::size_t held) {
  { policy.next(held) } noexcept -> std::same_as<std::size_t>;
};

/// Always the same step.
struct fixed_growth {
  std::size_t step = 64 * 1024;  ///< bytes

  [[nodiscard]] constexpr std::size_t next(std::size_t) const noexcept { return step; }
};

/// A share of what is held, between two bounds: steps grow with the program, and the memory that may lie unused stays
/// below `held / divisor + smallest`. The upper bound keeps growth from running away.
struct proportional_growth {
  std::size_t smallest = 4 * 1024;        ///< bytes
  std::size_t largest = 2 * 1024 * 1024;  ///< bytes
  std::size_t divisor = 8;                ///< the step is `held / divisor`

  [[nodiscard]] constexpr std::size_t next(std::size_t held) const noexcept {
    return detail::clamp(held / divisor, smallest, largest);
  }
};

/// Expects: `growth` can grow: whoever stores it asks once, when it is made.
constexpr void expect_growth(const proportional_growth& growth) noexcept {
  ASHLAR_REQUIRE(growth.divisor != 0, "the divisor of growth is 0");
  ASHLAR_REQUIRE(growth.smallest <= growth.largest, "the smallest step of growth is above its largest");
}

static_assert(growth_policy<fixed_growth> && growth_policy<proportional_growth>);

}  // namespace ASHLAR_ABI
}  // namespace ashlar
