// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cells a pool has at hand: a bounded list of those freed last, and behind it one word of a slab's bitmap.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/base/poison.hpp>
#include <ashlar/part/free_list.hpp>
#include <ashlar/part/slab.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Hands out free cells without looking at a slab.
///
/// The front, a linked list, takes as many cells as were handed out of words since it last overflowed, and at most 64
/// KiB of them: more are cold, and a program that frees more than it took is freeing in bulk. Then the owner empties
/// the front into the bitmaps, and until the next word the front takes nothing.
/// Invariant: the front holds `granted_ - room_` cells.
/// Thread safety: none.
class hot_cells {
public:
  /// Returns: how many cells the front may hold at most. Where misuse is looked for, a free cell must be known by its
  /// bit at once, so no cell rests in the front; nor does one that is too small for a link.
  [[nodiscard]] static constexpr std::size_t limit(std::size_t cell_bytes) noexcept {
    if (checking_level >= checking::checked || marks_memory || cell_bytes < free_list::link_bytes) return 0;
    return front_bytes / cell_bytes;
  }

  /// Returns: a cell, or null where none is at hand.
  [[nodiscard]] ASHLAR_INLINE void* take(std::size_t cell_bytes) noexcept {
    if (ASHLAR_LIKELY(!front_.empty())) {
      ++room_;
      return front_.pop();
    }
    return ASHLAR_LIKELY(word_.mask != 0) ? take_from_word(cell_bytes) : nullptr;
  }

  [[nodiscard]] ASHLAR_INLINE bool has_room() const noexcept { return room_ != 0; }
  [[nodiscard]] ASHLAR_INLINE bool is_front_empty() const noexcept { return front_.empty(); }

  /// Effects: puts a cell in front. Expects: `has_room()`.
  ASHLAR_INLINE void put(void* cell) noexcept {
    --room_;
    front_.push(cell);
  }

  /// Returns: one of the cells of a fresh word; the others are at hand now, and the front may grow by as many.
  /// Expects: nothing is at hand, the word is not empty.
  [[nodiscard]] void* refill(const cell_word& fresh, std::size_t cell_bytes) noexcept {
    word_ = fresh;
    room_ = granted_ = std::min(room_ + in_word(), limit(cell_bytes));
    return take_from_word(cell_bytes);
  }

  /// Effects: calls `f(void* cell)` for each cell of the front, and closes the front until the next word.
  template <class F>
  ASHLAR_INLINE void empty_front(F f) noexcept {
    while (!front_.empty()) f(front_.pop());
    room_ = granted_ = 0;
  }

  /// Effects: calls `f(void* cell)` for each cell at hand, and keeps none.
  template <class F>
  void empty(std::size_t cell_bytes, F f) noexcept {
    empty_front(f);
    for (; word_.mask != 0; word_.mask &= word_.mask - 1) f(word_.base + lowest() * cell_bytes);
  }

  [[nodiscard]] std::size_t in_front() const noexcept { return granted_ - room_; }
  [[nodiscard]] std::size_t in_word() const noexcept { return static_cast<std::size_t>(std::popcount(word_.mask)); }
  [[nodiscard]] std::size_t size() const noexcept { return in_front() + in_word(); }
  /// Returns: the word's cells that are not handed out yet.
  [[nodiscard]] const cell_word& word() const noexcept { return word_; }

  /// Returns: whether `cell` waits in the word to be handed out. Expects: it is the start of a cell.
  [[nodiscard]] bool is_in_word(const void* cell, std::size_t cell_bytes) const noexcept {
    if (word_.mask == 0) return false;
    const std::uintptr_t index = (address_of(cell) - address_of(word_.base)) / cell_bytes;
    return index < 64 && ((word_.mask >> index) & 1) != 0;
  }

  /// Complexity: O(cells in front).
  [[nodiscard]] bool invariant(std::size_t cell_bytes) const noexcept {
    return granted_ <= limit(cell_bytes) && room_ <= granted_ && front_.size() == in_front();
  }

private:
  static constexpr std::size_t front_bytes = 64 * 1024;

  [[nodiscard]] ASHLAR_INLINE std::size_t lowest() const noexcept {
    return static_cast<std::size_t>(std::countr_zero(word_.mask));
  }

  [[nodiscard]] ASHLAR_INLINE void* take_from_word(std::size_t cell_bytes) noexcept {
    void* const cell = word_.base + lowest() * cell_bytes;
    word_.mask &= word_.mask - 1;
    mark_live(cell, cell_bytes);
    return cell;
  }

  free_list front_;
  std::size_t room_ = 0;  // cells the front may still take
  cell_word word_;
  std::size_t granted_ = 0;  // room when the front is empty
};

}  // namespace ashlar::inline ASHLAR_ABI
