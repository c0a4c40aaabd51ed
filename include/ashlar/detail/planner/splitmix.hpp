// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random numbers that depend on nothing but a seed.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace ashlar::ASHLAR_ABI::detail::planner {

/// The generator SplitMix64 (Steele, Lea and Flood 2014).
class splitmix {
public:
  constexpr explicit splitmix(std::uint64_t seed) noexcept : state_(seed) {}

  constexpr std::uint64_t operator()() noexcept { return detail::mixed(state_ += 0x9e3779b97f4a7c15u); }

  /// Returns: a number below `bound`. Expects: `bound != 0`.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept { return (*this)() % bound; }

  /// Returns: an index below `count`. Expects: `count != 0`.
  constexpr std::size_t index(std::size_t count) noexcept { return static_cast<std::size_t>(below(count)); }

private:
  std::uint64_t state_;
};

}  // namespace ashlar::ASHLAR_ABI::detail::planner
