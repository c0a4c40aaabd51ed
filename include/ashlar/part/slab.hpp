// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A slab: a run of equal cells behind a header, and one bit a cell that says whether it is free.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include <ashlar/base/config.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/part/address_tree.hpp>
#include <ashlar/part/list.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Up to 64 neighbouring cells taken out of a slab at once: bit `i` stands for the cell `i` cells behind `base`.
struct cell_word {
  std::byte* base = nullptr;
  std::uint64_t mask = 0;
};

/// The header of a slab; the bitmap follows it, then the cells (see `slab_geometry`).
/// A set bit is a free cell. Cells that were taken in a word are not free, whether or not a caller has them yet.
/// Invariant: `free` is the number of set bits; no word below `hint` has a set bit; no bit from `capacity` on is set.
struct alignas(64) slab : list_node<slab>, tree_node<slab> {
  const void* owner;       ///< the pool
  std::byte* cells;        ///< the first cell
  std::uint32_t capacity;  ///< cells
  std::uint32_t free;      ///< cells
  std::uint32_t hint;      ///< word

  [[nodiscard]] ASHLAR_INLINE std::uint64_t* bits() noexcept { return reinterpret_cast<std::uint64_t*>(this + 1); }
  [[nodiscard]] const std::uint64_t* bits() const noexcept { return reinterpret_cast<const std::uint64_t*>(this + 1); }
  [[nodiscard]] std::size_t words() const noexcept { return (std::size_t{capacity} + 63) / 64; }

  /// Effects: makes a slab with all cells free in raw memory of `sizeof(slab)` bytes and the bitmap.
  static slab* format(void* memory, const void* owner, std::byte* cells, std::uint32_t capacity) noexcept {
    slab* const made = ::new (memory) slab;
    made->owner = owner;
    made->cells = cells;
    made->capacity = made->free = capacity;
    made->hint = 0;
    for (std::size_t word = 0; word < made->words(); ++word) made->bits()[word] = made->cells_in_word(word);
    return made;
  }

  /// Returns: a mask of the cells that exist in a word of the bitmap.
  [[nodiscard]] std::uint64_t cells_in_word(std::size_t word) const noexcept {
    const std::size_t from_here = capacity - word * 64;
    return from_here >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << from_here) - 1;
  }

  [[nodiscard]] bool is_free(std::uint32_t cell) const noexcept {
    return ((bits()[cell / 64] >> (cell % 64)) & 1) != 0;
  }

  /// Effects: frees a cell. Expects: it is not free.
  ASHLAR_INLINE void set_free(std::uint32_t cell) noexcept {
    const std::uint32_t word = cell / 64;
    bits()[word] |= std::uint64_t{1} << (cell % 64);
    if (word < hint) hint = word;
    ++free;
  }

  /// Effects: frees the cells of `mask` in a word. Expects: they exist and none is free.
  void set_free(std::uint32_t word, std::uint64_t mask) noexcept {
    bits()[word] |= mask;
    if (word < hint) hint = word;
    free += static_cast<std::uint32_t>(std::popcount(mask));
  }

  /// Effects: takes up to `most` free cells of the first word that has some. Returns: that word and the cells taken.
  /// Expects: some cell is free, `most > 0`. Complexity: O(words), amortised O(1) over a slab filled in order.
  struct taken {
    std::uint32_t word;
    std::uint64_t mask;
  };
  [[nodiscard]] taken take_word(std::size_t most) noexcept {
    while (bits()[hint] == 0) ++hint;
    const std::uint64_t mask = lowest_bits(bits()[hint], most);
    bits()[hint] &= ~mask;
    free -= static_cast<std::uint32_t>(std::popcount(mask));
    return {hint, mask};
  }

  /// Complexity: O(words).
  [[nodiscard]] bool invariant() const noexcept {
    std::uint32_t set = 0;
    for (std::size_t word = 0; word < words(); ++word) {
      if ((bits()[word] & ~cells_in_word(word)) != 0) return false;
      if (word < hint && bits()[word] != 0) return false;
      set += static_cast<std::uint32_t>(std::popcount(bits()[word]));
    }
    return set == free;
  }

private:
  [[nodiscard]] static std::uint64_t lowest_bits(std::uint64_t mask, std::size_t most) noexcept {
    if (most >= 64) return mask;
    std::uint64_t rest = mask;
    for (; most != 0 && rest != 0; --most) rest &= rest - 1;
    return mask & ~rest;
  }
};

}  // namespace ashlar::inline ASHLAR_ABI
