// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Growth policies: the size of the next block as a function of the bytes already held.
#pragma once

#include <concepts>
#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>

namespace ashlar::ASHLAR_ABI {

namespace policy {

/// `next(held)` returns the number of bytes to request next by a resource that holds `held` bytes.
template <class Policy>
concept growth = requires(const Policy& policy, std::size_t held) {
  { policy.next(held) } noexcept -> std::same_as<std::size_t>;
};

}  // namespace policy

/// A constant step.
struct fixed_growth {
  std::size_t step = 64 * 1024;  ///< bytes

  [[nodiscard]] constexpr std::size_t next(std::size_t) const noexcept { return step; }
};

/// A share of the held bytes between two bounds. Steps grow with the program, and unused memory stays below
/// `held / divisor + smallest` bytes. The upper bound prevents excessive growth.
struct proportional_growth {
  std::size_t smallest = 4 * 1024;        ///< bytes
  std::size_t largest = 2 * 1024 * 1024;  ///< bytes
  std::size_t divisor = 8;                ///< the step is `held / divisor`

  [[nodiscard]] constexpr std::size_t next(std::size_t held) const noexcept {
    const std::size_t step = held / divisor;
    return step < smallest ? smallest : largest < step ? largest : step;
  }
};

/// Expects: a divisor above 0 and ordered bounds. Constructors that store a growth policy call this once.
constexpr void expect_growth(const proportional_growth& growth) noexcept {
  ASHLAR_REQUIRE(growth.divisor != 0, "the divisor of growth is 0");
  ASHLAR_REQUIRE(growth.smallest <= growth.largest, "the smallest step of growth is above its largest");
}

static_assert(policy::growth<fixed_growth> && policy::growth<proportional_growth>);

}  // namespace ashlar::ASHLAR_ABI
