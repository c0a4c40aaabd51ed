// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cached cells of a pool: a bounded LIFO array of the cells freed last, and one cell batch of a slab's bitmap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Hands out free cells without access to a slab.
///
///   put  -> [ array: p0 p1 p2 ... pn-1 | room | beyond the limit ] -> take
///   take <- [ cell batch: base, mask ]                                when the array is empty
///
/// The array has the addresses of cells. It belongs to the owner, so that a small pool has a small one and a copy of
/// none lies in an object; without one no cell is cached there. A free list through the cells would be smaller, but its
/// pop waits for the link in the cell and its push writes to a dead cell. The array touches no cell, so a cell may be
/// out of the CPU's cache, and as small as a byte.
///
/// The limit of the array grows by the cells of each batch, up to `limit(cell_bytes)`; an overflow resets it. A program
/// that frees more than it took is freeing in bulk: the owner then empties the array into the bitmaps, and the array
/// takes nothing until the next batch.
///
/// 256 KiB is what the second-level cache of nearly every core holds: a program that reuses more misses it anyway. With
/// 64 KiB, swings of 1000 cells of 256 bytes overflowed in each round, and a pair cost 6.5 to 10 ns instead of 2.4.
/// Invariant: `first_ <= top_ <= end_`. Thread safety: none.
template <std::size_t MostBytes = std::size_t{256} * 1024>
class cached_cells {
public:
  static constexpr std::size_t slot_count = is_hosted ? 1024 : 32;  // few on a machine without an operating system

  cached_cells() = default;
  cached_cells(const cached_cells&) = delete;  // the same cells would be cached twice
  cached_cells& operator=(const cached_cells&) = delete;

  /// Whether freed cells are cached: not at the levels that check for misuse, where the bitmap must show a free cell at
  /// once.
  static constexpr bool takes_freed = checking_level < checking::checked && !marks_memory;

  /// Returns: the largest useful array, in cells.
  [[nodiscard]] static constexpr std::size_t limit(std::size_t cell_bytes) noexcept {
    return takes_freed ? detail::min(slot_count, MostBytes / cell_bytes) : 0;
  }

  /// Effects: the cells move to `array`, which is used from now on, with a limit of at least `least_limit`. Expects: it
  /// has room for them. Lifetime: it outlives its use; it may be the present one.
  void use(void** array, std::size_t least_limit = 0) noexcept {
    if (in_array() != 0) std::memmove(array, first_, in_array() * sizeof(void*));
    top_ = array + in_array();
    end_ = array + detail::max(static_cast<std::size_t>(end_ - first_), least_limit);
    first_ = array;
  }

  /// Returns: the array, or null.
  [[nodiscard]] void** array() const noexcept { return first_; }

  /// Returns: a cell, or null if none is cached.
  [[nodiscard]] ASHLAR_INLINE void* take(std::size_t cell_bytes) noexcept {
    if (ASHLAR_LIKELY(!is_array_empty())) return pop();
    return ASHLAR_LIKELY(!is_batch_empty()) ? take_from_batch(cell_bytes) : nullptr;
  }

  /// Returns: the cell cached last. Expects: the array is not empty.
  [[nodiscard]] ASHLAR_INLINE void* pop() noexcept { return *--top_; }

  /// Returns: the batch's lowest cell. Expects: the batch is not empty.
  [[nodiscard]] ASHLAR_INLINE void* take_from_batch(std::size_t cell_bytes) noexcept {
    void* const cell = batch_.base + first_bit(batch_.mask) * cell_bytes;
    batch_.mask = without_first(batch_.mask);
    mark_live(cell, cell_bytes);
    return cell;
  }

  [[nodiscard]] ASHLAR_INLINE bool has_room() const noexcept { return top_ != end_; }
  [[nodiscard]] ASHLAR_INLINE bool is_array_empty() const noexcept { return top_ == first_; }
  [[nodiscard]] ASHLAR_INLINE bool is_batch_empty() const noexcept { return batch_.mask == 0; }

  /// Effects: adds a cell to the array. Expects: `has_room()`.
  ASHLAR_INLINE void put(void* cell) noexcept { *top_++ = cell; }

  /// Effects: fills `cells` with cached cells. Returns: their number.
  [[nodiscard]] std::size_t take_many(std::span<void*> cells, std::size_t cell_bytes) noexcept {
    std::size_t taken = 0;
    for (; taken != cells.size() && !is_array_empty(); ++taken) cells[taken] = pop();
    for (; taken != cells.size() && !is_batch_empty(); ++taken) cells[taken] = take_from_batch(cell_bytes);
    return taken;
  }

  /// Effects: adds the first of `cells` to the array, while there is room. Returns: their number.
  [[nodiscard]] std::size_t put_many(std::span<void* const> cells) noexcept {
    const std::size_t put = detail::min(cells.size(), static_cast<std::size_t>(end_ - top_));
    if (put != 0) std::memmove(top_, cells.data(), put * sizeof(void*));
    top_ += put;
    return put;
  }

  /// Returns: a cell of a fresh batch; the others become cached, and the limit of the array grows by their number, up
  /// to `most`. Expects: no cached cells; the batch is not empty; the array has `most` slots.
  [[nodiscard]] void* refill(const cell_batch& fresh, std::size_t cell_bytes, std::size_t most) noexcept {
    batch_ = fresh;
    end_ = first_ + detail::min(static_cast<std::size_t>(end_ - first_) + in_batch(), most);
    return take_from_batch(cell_bytes);
  }

  /// Effects: calls `f(void* cell)` for each cell of the array, and closes the array until the next batch.
  template <class F>
  ASHLAR_INLINE void empty_array(F f) noexcept {
    while (top_ != first_) f(*--top_);
    end_ = first_;
  }

  /// Effects: as above, into the bitmaps of `store`; neighbours together.
  template <class Geometry, class Store>
  void give_array(const Geometry& geometry, Store& store) noexcept {
    gathered_cells<slab> neighbours;
    empty_array([&](void* cell) { store.gather(geometry, cell, neighbours); });
    store.give(geometry, neighbours);
  }

  /// Effects: gives all cached cells to the bitmaps of `store`.
  template <class Geometry, class Store>
  void give_all(const Geometry& geometry, Store& store) noexcept {
    give_array(geometry, store);
    store.give(geometry, std::exchange(batch_, {}));
  }

  /// Effects: forgets all cached cells, and the array.
  void clear() noexcept {
    first_ = top_ = end_ = nullptr;
    batch_ = {};
  }

  [[nodiscard]] std::size_t in_array() const noexcept { return static_cast<std::size_t>(top_ - first_); }
  [[nodiscard]] std::size_t in_batch() const noexcept { return count_bits(batch_.mask); }
  [[nodiscard]] std::size_t size() const noexcept { return in_array() + in_batch(); }
  /// Returns: the batch's cells that are not handed out yet.
  [[nodiscard]] const cell_batch& batch() const noexcept { return batch_; }

  [[nodiscard]] bool invariant(std::size_t cell_bytes) const noexcept {
    return first_ <= top_ && top_ <= end_ && static_cast<std::size_t>(end_ - first_) <= limit(cell_bytes);
  }

private:
  void** first_ = nullptr;  // the array
  void** top_ = nullptr;    // behind its last cell
  void** end_ = nullptr;    // behind its present limit
  cell_batch batch_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
