// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cells a pool has at hand: a bounded stack of those freed last, and behind it one word of a slab's bitmap.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Hands out free cells without looking at a slab.
///
///   put  -> [ front: p0 p1 p2 ... pn-1 | room | beyond the limit ] -> take
///   take <- [ word: base, mask ]                                      when the front is empty
///
/// The front is an array of addresses. A list through the cells themselves would be smaller, but its pop waits for the
/// link it has just read, and its push writes to a cell that is dead: here neither touches the cell, so it may be cold,
/// and as small as a byte.
///
/// The front takes as many cells as were handed out of words since it last overflowed, at most `slots` and at most 64
/// KiB of them: more are cold, and a program that frees more than it took is freeing in bulk. Then the owner empties
/// the front into the bitmaps, and until the next word the front takes nothing.
/// Invariant: `size_ <= granted_ <= limit(cell_bytes)`.
/// Thread safety: none.
class hot_cells {
public:
  static constexpr std::size_t slots = is_hosted ? 1024 : 32;  // a machine without a system has few bytes

  // What has no use for zeros is not filled with them, but where the compiler lays the object out.
  constexpr hot_cells() noexcept {
    if (std::is_constant_evaluated()) front_.fill(nullptr);
  }

  hot_cells(const hot_cells&) = delete;  // the same cells would be at hand twice
  hot_cells& operator=(const hot_cells&) = delete;

  /// Returns: how many cells the front may hold at most. Where misuse is looked for, a free cell must be known by its
  /// bit at once, so no cell rests in the front.
  [[nodiscard]] static constexpr std::size_t limit(std::size_t cell_bytes) noexcept {
    if (checking_level >= checking::checked || marks_memory) return 0;
    return detail::min(slots, front_bytes / cell_bytes);
  }

  /// Returns: a cell, or null where none is at hand.
  [[nodiscard]] ASHLAR_INLINE void* take(std::size_t cell_bytes) noexcept {
    if (ASHLAR_LIKELY(!is_front_empty())) return pop();
    return ASHLAR_LIKELY(!is_word_empty()) ? take_from_word(cell_bytes) : nullptr;
  }

  /// Returns: the cell put in front last. Expects: the front is not empty.
  [[nodiscard]] ASHLAR_INLINE void* pop() noexcept { return front_[--size_]; }

  /// Returns: the word's lowest cell. Expects: the word is not empty.
  [[nodiscard]] ASHLAR_INLINE void* take_from_word(std::size_t cell_bytes) noexcept {
    void* const cell = word_.base + lowest() * cell_bytes;
    word_.mask &= word_.mask - 1;
    mark_live(cell, cell_bytes);
    return cell;
  }

  [[nodiscard]] ASHLAR_INLINE bool has_room() const noexcept { return size_ < granted_; }
  [[nodiscard]] ASHLAR_INLINE bool is_front_empty() const noexcept { return size_ == 0; }
  [[nodiscard]] ASHLAR_INLINE bool is_word_empty() const noexcept { return word_.mask == 0; }

  /// Effects: puts a cell in front. Expects: `has_room()`.
  ASHLAR_INLINE void put(void* cell) noexcept { front_[size_++] = cell; }

  /// Effects: fills `cells` from what is at hand. Returns: how many there were.
  [[nodiscard]] std::size_t take_many(std::span<void*> cells, std::size_t cell_bytes) noexcept {
    std::size_t taken = 0;
    for (; taken != cells.size() && !is_front_empty(); ++taken) cells[taken] = pop();
    for (; taken != cells.size() && !is_word_empty(); ++taken) cells[taken] = take_from_word(cell_bytes);
    return taken;
  }

  /// Effects: puts the first of `cells` in front, as far as there is room. Returns: how many.
  [[nodiscard]] std::size_t put_many(std::span<void* const> cells) noexcept {
    const std::size_t put = detail::min(cells.size(), granted_ - size_);
    if (put != 0) std::memmove(front_.data() + size_, cells.data(), put * sizeof(void*));
    size_ += put;
    return put;
  }

  /// Returns: one of the cells of a fresh word; the others are at hand now, and the front may grow by as many.
  /// Expects: nothing is at hand, the word is not empty.
  [[nodiscard]] void* refill(const cell_batch& fresh, std::size_t cell_bytes) noexcept {
    word_ = fresh;
    granted_ = detail::min(granted_ + in_word(), limit(cell_bytes));
    return take_from_word(cell_bytes);
  }

  /// Effects: calls `f(void* cell)` for each cell of the front, and closes the front until the next word.
  template <class F>
  ASHLAR_INLINE void empty_front(F f) noexcept {
    while (size_ != 0) f(front_[--size_]);
    granted_ = 0;
  }

  /// Effects: calls `f(void* cell)` for each cell at hand, and keeps none.
  template <class F>
  void empty(std::size_t cell_bytes, F f) noexcept {
    empty_front(f);
    for (; word_.mask != 0; word_.mask &= word_.mask - 1) f(word_.base + lowest() * cell_bytes);
  }

  /// Effects: forgets all cells at hand.
  void clear() noexcept {
    size_ = granted_ = 0;
    word_ = {};
  }

  [[nodiscard]] std::size_t in_front() const noexcept { return size_; }
  [[nodiscard]] std::size_t in_word() const noexcept { return static_cast<std::size_t>(std::popcount(word_.mask)); }
  [[nodiscard]] std::size_t size() const noexcept { return in_front() + in_word(); }
  /// Returns: the word's cells that are not handed out yet.
  [[nodiscard]] const cell_batch& word() const noexcept { return word_; }

  [[nodiscard]] bool invariant(std::size_t cell_bytes) const noexcept {
    return size_ <= granted_ && granted_ <= limit(cell_bytes);
  }

private:
  static constexpr std::size_t front_bytes = 64 * 1024;

  [[nodiscard]] ASHLAR_INLINE std::size_t lowest() const noexcept {
    return static_cast<std::size_t>(std::countr_zero(word_.mask));
  }

  std::size_t size_ = 0;     // of the front
  std::size_t granted_ = 0;  // how large it may become
  cell_batch word_;
  std::array<void*, slots> front_;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
