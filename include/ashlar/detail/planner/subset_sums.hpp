// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The offsets that stacks of items can reach: subset sums as a bit set.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/planner/search_limits.hpp>
#include <ashlar/detail/support/bitmap.hpp>

namespace ashlar::ASHLAR_ABI::detail::planner {

/// Bit `p` is set if some stack from `low` that wastes at most `slack` can end at `p`.
class subset_sums {
public:
  /// Capacities must be below this.
  static constexpr units limit = 4096;

  /// Expects: `capacity < limit`, `low + slack <= capacity`.
  subset_sums(units capacity, units low, units slack) noexcept : words_(word_of(capacity) + 1), highest_(low + slack) {
    std::fill(bits_.begin() + static_cast<std::ptrdiff_t>(word_of(low)),
              bits_.begin() + static_cast<std::ptrdiff_t>(words_), 0);
    for (units p = low; p <= low + slack; ++p) bits_[word_of(p)] |= std::uint64_t{1} << (p & 63);
  }

  /// Expects: `floor >= low`. Effects: lets an item of the given height follow every stack that ends at `floor` or
  /// above. If items are added in the order of their floors, no order of stacking is missed: two neighbours in a stack
  /// can always be swapped into that order.
  void stack(units floor, units height) noexcept {
    const std::size_t from = word_of(floor);
    const auto skip = static_cast<std::size_t>(height >> 6);
    if (floor > highest_ || from + skip >= words_) return;
    highest_ += height;
    const std::uint64_t kept = bits_[from];
    bits_[from] &= ~std::uint64_t{0} << (floor & 63);
    const std::uint64_t above = bits_[from];
    add_shifted(from, skip, static_cast<unsigned>(height & 63));
    bits_[from] = skip == 0 ? kept | (above << (height & 63)) : kept;
  }

  /// Returns: the least attainable offset not below `from`, or `beyond`.
  [[nodiscard]] units next(units from) const noexcept {
    std::size_t w = word_of(from);
    if (w >= words_) return beyond;
    std::uint64_t bits = bits_[w] & (~std::uint64_t{0} << (from & 63));
    while (bits == 0) {
      if (++w == words_) return beyond;
      bits = bits_[w];
    }
    return static_cast<units>(w * 64 + first_bit(bits));
  }

private:
  [[nodiscard]] static std::size_t word_of(units p) noexcept { return static_cast<std::size_t>(p >> 6); }

  /// From the top down, so that every word is read before it changes; the caller handles the lowest word.
  void add_shifted(std::size_t from, std::size_t skip, unsigned shift) noexcept {
    const std::size_t lowest = from + std::max<std::size_t>(skip, 1);
    for (std::size_t w = std::min(words_, word_of(highest_) + 1); w-- > lowest;) {
      std::uint64_t sum = bits_[w - skip] << shift;
      // Two shifts, because a shift by 64 is undefined.
      if (w - skip > from) sum |= (bits_[w - skip - 1] >> 1) >> (63 - shift);
      bits_[w] |= sum;
    }
  }

  std::size_t words_;
  units highest_;  // nothing above is attainable; may exceed the capacity
  std::array<std::uint64_t, static_cast<std::size_t>(limit) / 64 + 1>
      bits_;  // only those from the word of `low` on have a value
};

}  // namespace ashlar::ASHLAR_ABI::detail::planner
