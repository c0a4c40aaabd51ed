// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The offsets that stacks of figures can reach: sums of subsets as a bit set.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/board_shape.hpp>

namespace ashlar::inline ASHLAR_ABI::plan::valley {

/// Bit `p` is set if some stack that starts at `low`, with at most `slack` wasted, can end at `p`.
class reachable {
public:
  /// Capacities must be below this.
  static constexpr units limit = 4096;

  /// Expects: `capacity < limit`, `low + slack <= capacity`.
  reachable(units capacity, units low, units slack) noexcept
      : first_(word_of(low)), words_(word_of(capacity) + 1) {
    std::fill(bits_.begin() + static_cast<std::ptrdiff_t>(first_), bits_.begin() + static_cast<std::ptrdiff_t>(words_),
              0);
    for (units p = low; p <= low + slack; ++p) bits_[word_of(p)] |= std::uint64_t{1} << (p & 63);
  }

  /// Effects: lets every stack that ends at `floor` or above be followed by a figure of the given height. If figures
  /// are added in the order of their floors, no order of stacking is missed: two neighbours in a stack can always be
  /// swapped into it.
  void stack(units floor, units height) noexcept {
    const std::size_t from = std::max(word_of(floor), first_);
    const auto skip = static_cast<std::size_t>(height >> 6);
    const auto shift = static_cast<unsigned>(height & 63);
    if (from + skip >= words_) return;
    for (std::size_t w = words_; w-- > from + skip;) {
      std::uint64_t sum = at(w - skip, from, floor) << shift;
      if (shift != 0 && w - skip > from) sum |= at(w - skip - 1, from, floor) >> (64 - shift);
      bits_[w] |= sum;
    }
  }

  /// Returns: the least reachable offset not below `from`, or `far`.
  [[nodiscard]] units next(units from) const noexcept {
    std::size_t w = word_of(from);
    if (w >= words_) return far;
    std::uint64_t bits = bits_[w] & (~std::uint64_t{0} << (from & 63));
    while (bits == 0) {
      if (++w == words_) return far;
      bits = bits_[w];
    }
    return static_cast<units>(w * 64) + std::countr_zero(bits);
  }

private:
  [[nodiscard]] static std::size_t word_of(units p) noexcept { return static_cast<std::size_t>(p >> 6); }

  [[nodiscard]] std::uint64_t at(std::size_t w, std::size_t from, units floor) const noexcept {
    return w == from ? bits_[w] & (word_of(floor) == w ? ~std::uint64_t{0} << (floor & 63) : ~std::uint64_t{0})
                     : bits_[w];
  }

  std::size_t first_;
  std::size_t words_;
  std::array<std::uint64_t, static_cast<std::size_t>(limit) / 64 + 1> bits_;  // only [first_, words_) has a value
};

}  // namespace ashlar::inline ASHLAR_ABI::plan::valley
