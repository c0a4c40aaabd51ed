// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cell batch: up to 64 neighbouring cells of one bitmap word, taken from a slab or given back together.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bitmap.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

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

  /// Returns: the place of a cell that `random` chooses, removed from the batch. Expects: the batch is not empty.
  [[nodiscard]] ASHLAR_INLINE std::size_t take_any(std::uint64_t random) noexcept {
    const std::size_t place = any_bit(mask, random);
    mask ^= bit_of(place);
    return place;
  }

  /// Returns: the cell that the next `take` returns. Expects: the batch is not empty.
  [[nodiscard]] ASHLAR_INLINE std::byte* next(std::size_t cell_bytes) const noexcept {
    return base + first_bit(rest()) * cell_bytes;
  }

  /// Returns: the mask without the first cell, which comes last.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t all_but_first() const noexcept { return mask & ~std::uint64_t{1}; }

  /// Effects: prefetches the cache lines of the next `cells` cells for writing.
  /// Expects: `cells` > 0.
  ASHLAR_INLINE void fetch_ahead(std::size_t cell_bytes, int cells) const noexcept {
    std::uint64_t left = mask;
    while (left != 0) {
      ASHLAR_FETCH_TO_WRITE(base + first_bit(left) * cell_bytes);
      if (--cells == 0) break;
      left = without_first(left);
    }
  }

  /// Returns: whether a cell that starts at `p` is in the batch.
  [[nodiscard]] bool has(const void* p, std::size_t cell_bytes) const noexcept {
    const std::size_t place = (address_of(p) - address_of(base)) / cell_bytes;
    return place < 64 && ((mask >> place) & 1) != 0;
  }

private:
  // The lowest bit of the result is the next cell.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t rest() const noexcept {
    const std::uint64_t others = all_but_first();
    return others != 0 ? others : 1;
  }
};

/// Cells of one bitmap word on their way back to it: one look-up of the slab for up to 64 cells. Cells that were freed
/// one after the other are as a rule neighbours, up or down. Thread safety: none.
template <class Slab>
struct gathered_cells {
  Slab* home = nullptr;  // null: no cells
  std::uint32_t word = 0;
  std::uint32_t bytes = 0;  // of all cells of the word
  reciprocal by_cell;
  cell_batch batch;  // its base is the first cell of the word

  /// Effects: gathers a cell. Returns: false, without an effect, if the cell is of another word or gathered already:
  /// the bitmap then finds the second free.
  [[nodiscard]] ASHLAR_INLINE bool add(const void* cell) noexcept {
    const std::uintptr_t offset = address_of(cell) - address_of(batch.base);
    if (offset >= bytes) return false;
    const std::uint64_t bit = std::uint64_t{1} << by_cell.divide(static_cast<std::uint32_t>(offset));
    const bool is_new = (batch.mask & bit) == 0;
    batch.mask |= bit;
    return is_new;
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
