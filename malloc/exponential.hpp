// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exponential distances between samples, by integers alone: libm is not linked.
#pragma once

#include <bit>
#include <cstdint>

namespace ashlar::drop_in {

/// Returns: `-log2(bits / 2^32)` in units of 2^-16, rounded to one of them. Expects: `bits` is not 0.
[[nodiscard]] constexpr std::uint32_t minus_log2(std::uint32_t bits) noexcept {
  const int zeros = std::countl_zero(bits);
  std::uint64_t mantissa = std::uint64_t{bits} << zeros;  // of 2^31, in [1, 2)
  std::uint32_t fraction = 0;
  for (int digit = 0; digit < 16; ++digit) {  // a square has twice the logarithm: its next binary digit is in front
    mantissa = mantissa * mantissa >> 31;
    const bool carries = mantissa >> 32 != 0;
    fraction = fraction << 1 | (carries ? 1u : 0u);
    mantissa >>= carries ? 1 : 0;
  }
  return (static_cast<std::uint32_t>(zeros + 1) << 16) - fraction;
}

/// Returns: a distance with the mean `mean`, exponentially distributed if `bits` is uniform. Expects: `bits` is not 0.
[[nodiscard]] constexpr std::uint64_t exponential(std::uint32_t mean, std::uint32_t bits) noexcept {
  constexpr std::uint64_t ln2 = 45'426;  // in units of 2^-16
  return (std::uint64_t{mean} * minus_log2(bits) >> 8) * ln2 >> 24;
}

/// Returns: the next of a sequence of 2^32 - 1 numbers without 0. Expects: `last` is not 0.
[[nodiscard]] constexpr std::uint32_t next_random(std::uint32_t last) noexcept {
  last ^= last << 13;
  last ^= last >> 17;
  return last ^ last << 5;
}

}  // namespace ashlar::drop_in
