// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A slab: a run of equal cells after a header, with a bitmap of the free cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/slab/cell_batch.hpp>
#include <ashlar/detail/slab/cell_guard.hpp>
#include <ashlar/detail/slab/run_marks.hpp>
#include <ashlar/detail/support/address_heap.hpp>
#include <ashlar/detail/support/address_tree.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bitmap.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

struct slab;

/// A cell by its slab and its index there; no cell if the slab is null.
struct located_cell {
  slab* home = nullptr;
  std::uint32_t index = 0;
};

/// The header of a slab, followed by the bitmap and the cells (see `slab_geometry`).
/// A set bit is a free cell. Cells taken in a cell batch are not free, even if no caller has them yet.
/// At level `hardened` two more bitmaps follow: the cells that were ever handed out, and those that rest (see
/// `quarantine`).
/// Invariant: `free` is the number of set bits; `next` is a word of the bitmap; no bit from `capacity` on is set.
struct alignas(64) slab : heap_node<slab>, tree_node<slab> {
  const void* owner;       ///< the pool
  std::byte* cells;        ///< the first cell
  std::uint32_t capacity;  ///< cells
  std::uint32_t next;      ///< the word of the next cells, round-robin, so that each word may collect free cells
  std::uint32_t free;      ///< cells
  std::uint32_t turn;      ///< the value of `free` at which the owner files it again (see `slab_set`)
  std::uint32_t bin;       ///< the owner's bin for it
  std::uint32_t lane;      ///< the thread that takes from it, as far as the owner distinguishes threads
  ASHLAR_NO_UNIQUE_ADDRESS slab_registration_if_checked registration;
  ASHLAR_NO_UNIQUE_ADDRESS run_marks_if_checked runs;

  [[nodiscard]] ASHLAR_INLINE std::uint64_t* bits() noexcept { return reinterpret_cast<std::uint64_t*>(this + 1); }
  [[nodiscard]] const std::uint64_t* bits() const noexcept { return reinterpret_cast<const std::uint64_t*>(this + 1); }
  [[nodiscard]] std::size_t words() const noexcept { return bitmap::words_of(capacity); }
  [[nodiscard]] ASHLAR_INLINE bitmap free_cells() noexcept { return {bits(), capacity}; }
  [[nodiscard]] ASHLAR_INLINE const_bitmap free_cells() const noexcept { return {bits(), capacity}; }
  /// Returns: the bitmap of cells that were ever handed out. Expects: `has_guards`.
  [[nodiscard]] ASHLAR_INLINE bitmap used() noexcept { return {bits() + words(), capacity}; }
  /// Returns: the bitmap of resting cells, which are handed out last. Expects: `has_guards`.
  [[nodiscard]] ASHLAR_INLINE bitmap resting() noexcept { return {bits() + 2 * words(), capacity}; }

  /// Effects: formats raw memory of `sizeof(slab)` bytes and the bitmaps as a slab with all cells free.
  static ASHLAR_INLINE slab* format(void* memory, const void* owner, std::byte* cells,
                                    std::uint32_t capacity) noexcept {
    slab* const made = ::new (memory) slab;
    made->owner = owner;
    made->cells = cells;
    made->capacity = made->free = capacity;
    made->next = made->turn = made->bin = made->lane = 0;
    made->free_cells().set_all();
    if constexpr (has_guards) detail::fill_n(made->bits() + made->words(), 2 * made->words(), std::uint64_t{0});
    return made;
  }

  [[nodiscard]] ASHLAR_INLINE bool is_free(std::uint32_t cell) const noexcept { return free_cells()[cell]; }

  /// Effects: frees a cell. Expects: the cell is taken.
  ASHLAR_INLINE void set_free(std::uint32_t cell) noexcept {
    free_cells().set(cell);
    ++free;
  }

  /// Effects: frees the cells of `mask` in a word. Expects: they exist and all are taken.
  void set_free(std::uint32_t word, std::uint64_t mask) noexcept {
    bits()[word] |= mask;
    free += static_cast<std::uint32_t>(count_bits(mask));
  }

  /// Effects: takes up to `most` free cells of the next word with free cells. Returns: that word and the cells taken.
  /// Expects: some cell is free, `most > 0`. Complexity: O(words), amortised O(1) over a slab filled in order.
  struct taken {
    std::uint32_t word;
    std::uint64_t mask;
  };
  [[nodiscard]] ASHLAR_INLINE taken take_batch(std::size_t most) noexcept {
    while (bits()[next] == 0) advance();
    return take(first_bits(bits()[next], most));
  }

  /// As `take_batch`, but without resting cells. Returns: no cells if all rest. Expects: `has_guards`.
  [[nodiscard]] taken take_rested_word(std::size_t most) noexcept {
    for (std::size_t looked = 0; looked < words(); ++looked, advance())
      if (const std::uint64_t rested = bits()[next] & ~resting().word(next); rested != 0)
        return take(first_bits(rested, most));
    return {next, 0};
  }

  /// Returns: the free cells of the next word, except for resting ones.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t rested_in_next() noexcept {
    if constexpr (has_guards) return bits()[next] & ~resting().word(next);
    else return bits()[next];
  }

  /// Effects: takes the lowest cell of `rested`. Returns: its index. Expects: `rested` is `rested_in_next()`, not 0.
  [[nodiscard]] ASHLAR_INLINE std::uint32_t take_lowest(std::uint64_t rested) noexcept {
    bits()[next] ^= rested & (0 - rested);
    --free;
    return next * 64 + static_cast<std::uint32_t>(first_bit(rested));
  }

  /// Effects: takes a free cell. Returns: its word and the cell.
  [[nodiscard]] taken take_cell(std::uint32_t cell) noexcept {
    next = cell / 64;
    return take(bit_of(cell));
  }

  /// Effects: takes `length` neighbouring free cells of one word, after a search of `most_words` words from the next
  /// on.
  /// Returns: that word and the cells; no cells if there is no such run. Expects: `1 <= length <= 64`.
  [[nodiscard]] taken take_run(std::size_t length, std::size_t most_words) noexcept {
    for (std::size_t looked = 0; looked < most_words; ++looked, advance())
      if (const std::uint64_t starts = starts_of_runs(bits()[next], length); starts != 0)
        return take(ones(first_bit(starts), length));
    return {next, 0};
  }

  /// Complexity: O(words).
  [[nodiscard]] bool invariant() const noexcept {
    return free_cells().invariant() && free_cells().count() == free && next < words();
  }

private:
  void advance() noexcept {
    if (++next == words()) next = 0;
  }

  [[nodiscard]] ASHLAR_INLINE taken take(std::uint64_t mask) noexcept {
    bits()[next] &= ~mask;
    if constexpr (has_guards) resting().word(next) &= ~mask;
    free -= static_cast<std::uint32_t>(count_bits(mask));
    return {next, mask};
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
