// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The size classes of TLSF: the map of sizes to bins, as a policy.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI {

/// The bins. Rows double in size, each cut into `2^StepBits` equal steps; the first and the second row have the same
/// step.
///
///     UnitBits = 0, StepBits = 2:   0 1 2 3 | 4 5 6 7 | 8- 10- 12- 14- | 16-  20-  24-  28- | 32- ...
///
/// The width of a bin is at most `1 / 2^StepBits` of its sizes. Sizes are below `2^MostBits` and are rounded down to
/// units of `2^UnitBits` bytes. All functions are a few arithmetic instructions, without tables or branches.
/// Source: Masmano, Ripoll, Crespo and Real, "TLSF: a new dynamic memory allocator for real-time systems", 2004.
template <unsigned UnitBits, unsigned MostBits, unsigned StepBits>
struct tlsf_scale {
  static_assert(StepBits <= 5, "the steps of a row are the bits of a 32-bit word");
  static_assert(UnitBits + StepBits < MostBits && MostBits < 64);

  static constexpr unsigned steps = 1u << StepBits;
  static constexpr unsigned rows = MostBits - UnitBits - StepBits + 1;
  static constexpr unsigned bins = rows * steps;
  static constexpr std::uint64_t most = (std::uint64_t{1} << MostBits) - 1;  ///< the largest size, in bytes

  /// Returns: the bin of a free block of `size`. Expects: `size <= most`.
  template <std::unsigned_integral Size>
  [[nodiscard]] static constexpr unsigned bin_of(Size size) noexcept {
    return bin_of_units(static_cast<Size>(size >> UnitBits));
  }

  /// Returns: the first bin with blocks of at least `size` only; `bins` or more if there is none.
  /// Expects: `size <= most`.
  template <std::unsigned_integral Size>
  [[nodiscard]] static constexpr unsigned bin_for(Size size) noexcept {
    const Size unit = Size{1} << UnitBits;
    const Size units = static_cast<Size>((size >> UnitBits) + static_cast<Size>((size & (unit - 1)) != 0));
    return bin_of_units(static_cast<Size>(units + (Size{1} << shift_of(units)) - 1));
  }

  /// Returns: the smallest size of a bin. Expects: `bin < bins`.
  [[nodiscard]] static constexpr std::uint64_t least_of(unsigned bin) noexcept {
    const unsigned row = bin / steps;
    if (row == 0) return std::uint64_t{bin} << UnitBits;
    return std::uint64_t{bin % steps + steps} << (row - 1 + UnitBits);
  }

private:
  // The number of low bits of a size that its bin does not determine.
  template <class Size>
  [[nodiscard]] static constexpr unsigned shift_of(Size units) noexcept {
    return static_cast<unsigned>(std::bit_width(static_cast<Size>(units | steps))) - 1 - StepBits;
  }

  template <class Size>
  [[nodiscard]] static constexpr unsigned bin_of_units(Size units) noexcept {
    const unsigned shift = shift_of(units);
    return (shift << StepBits) + static_cast<unsigned>(units >> shift);
  }
};

}  // namespace ashlar::ASHLAR_ABI
