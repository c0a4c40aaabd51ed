// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cell batch: up to 64 neighbouring cells of one bitmap word, taken from a slab or given back together.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Bit `i` of `mask` stands for the cell `i` cells after `base`. Thread safety: none.
struct cell_batch {
  std::byte* base = nullptr;
  std::uint64_t mask = 0;

  /// Returns: a cell, removed from the batch. The first cell comes last: in a heap it may start at a sampled address,
  /// which a program with one live block of a class should not get. Expects: the batch is not empty.
  [[nodiscard]] ASHLAR_INLINE std::byte* take(std::size_t cell_bytes) noexcept {
    std::byte* const cell = next(cell_bytes);
    const std::uint64_t left = rest();
    mask ^= left & (~left + 1);
    return cell;
  }

  /// Returns: the cell that the next `take` returns. Expects: the batch is not empty.
  [[nodiscard]] ASHLAR_INLINE std::byte* next(std::size_t cell_bytes) const noexcept {
    return base + static_cast<std::size_t>(std::countr_zero(rest())) * cell_bytes;
  }

  /// Effects: prefetches the cache lines of the next `cells` cells for writing.
  ASHLAR_INLINE void fetch_ahead(std::size_t cell_bytes, int cells) const noexcept {
    for (std::uint64_t left = mask; left != 0 && cells != 0; left &= left - 1, --cells)
      ASHLAR_FETCH_TO_WRITE(base + static_cast<std::size_t>(std::countr_zero(left)) * cell_bytes);
  }

private:
  // The lowest bit of the result is the next cell.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t rest() const noexcept {
    const std::uint64_t others = mask & ~std::uint64_t{1};
    return others != 0 ? others : 1;
  }
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
