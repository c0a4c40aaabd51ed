// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The header of a span of slices: a slab of equal cells, or one block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// One bit for each slice. A free sets the bits of a span, which joins it with its neighbours without further work.
using slice_mask = bit_word;

/// It stands in the head of the segment, so that spans hold no metadata: four cells of 32 KiB fill two slices.
/// Invariant: `free` is the number of set bits; no bit from `capacity` on is set.
struct alignas(64) span_header {
  span_header* next;      ///< in the list of partial slabs of its class
  span_header* previous;  ///< the same
  std::byte* cells;       ///< the first cell, or the block
  reciprocal by_cell;
  std::uint32_t cell_bytes;
  std::uint32_t capacity;           ///< cells
  std::uint32_t free;               ///< cells with a set bit
  std::uint32_t free_when_dropped;  ///< `free` at the last decommit; 0: all pages may be resident
  std::uint32_t dropped_bytes;      ///< decommitted pages
  std::uint32_t waiting;            ///< free cells without a bit, at the last count; of a free block 1
  std::uint16_t hint;               ///< an index: earlier bitmap words have no bit set
  std::uint8_t size_class;          ///< `size_classes::none`: one block
  std::uint8_t length;              ///< slices
  std::uint8_t first;  ///< first slice of the span that contains this one; for blocks from level `checked` on
  bool is_available;   ///< a slab with a set bit, or a free block: cached, in a bin, or coalesced with its neighbours

  [[nodiscard]] std::uint32_t index_of(const void* cell) const noexcept {
    return by_cell.divide(static_cast<std::uint32_t>(address_of(cell) - address_of(cells)));
  }
  [[nodiscard]] std::byte* cell(std::size_t index) const noexcept { return cells + index * cell_bytes; }
  /// Returns: whether a cell starts at `p`. Expects: `p` points into the slices of the slab.
  [[nodiscard]] bool is_cell(const void* p) const noexcept {
    if (address_of(p) < address_of(cells)) return false;
    const std::uint32_t index = index_of(p);
    return index < capacity && cell(index) == p;
  }
};

/// A span of slices, an extent, or any new block. `is_zero`: all bytes are zero, unused since they came from the
/// system.
struct fresh_block {
  std::byte* data = nullptr;
  bool is_zero = false;
};

/// Returns: the block, or null, with its first `bytes` bytes zero.
inline void* zeroed(const fresh_block& got, std::size_t bytes) noexcept {
  if (got.is_zero) mark_readable(got.data, bytes);  // otherwise Valgrind takes the zeroes for undefined
  else if (got.data != nullptr) std::memset(got.data, 0, bytes);
  return got.data;
}

/// A LIFO list for each length, of `Span` headers, and a bit for each list that is not empty.
/// Thread safety: none, but for `slices` and `taken_slices`. Never allocates.
template <class Span>
class span_bins {
public:
  /// Effects: adds a span. Expects: its span header holds the length; it is free.
  void put(Span& span) noexcept {
    span.is_available = true;
    span.next = tops_[span.length];
    tops_[span.length] = &span;
    lengths_ |= bit_word{1} << span.length;
    count(span.length);
  }

  /// Returns: the latest of the shortest spans of `length` to `length + longer` slices, removed, or null.
  [[nodiscard]] ASHLAR_INLINE Span* take(std::size_t length, std::size_t longer) noexcept {
    const bit_word fit = lengths_ >> length;
    if (ASHLAR_UNLIKELY(fit == 0 || first_bit(fit) > longer)) return nullptr;
    const std::size_t found = length + first_bit(fit);
    Span* const span = tops_[found];
    tops_[found] = span->next;
    lengths_ ^= bit_word{span->next == nullptr} << found;
    count(std::size_t{0} - found);
    taken_slices_.store(taken_slices() + found, memory_order_relaxed);
    span->is_available = false;
    return span;
  }

  /// Effects: empties the bins. Calls `f(span)` for each.
  template <class F>
  void clear(F f) noexcept {
    slices_.store(0, memory_order_relaxed);
    for (bit_word left = std::exchange(lengths_, 0); left != 0; left = without_first(left))
      for (Span* next = std::exchange(tops_[first_bit(left)], nullptr); next != nullptr;) {
        Span& span = *std::exchange(next, next->next);
        span.is_available = false;
        f(span);
      }
  }

  /// Effects: calls `f(span)` for each.
  template <class F>
  void for_each(F f) const noexcept {
    for (Span* span : tops_)
      for (; span != nullptr; span = span->next) f(*span);
  }

  /// Effects: forgets all spans, but not the count of those removed.
  void forget() noexcept {
    tops_ = {};
    lengths_ = 0;
    slices_.store(0, memory_order_relaxed);
  }

  /// Returns: slices of the spans. Thread safety: any thread.
  [[nodiscard]] std::size_t slices() const noexcept { return slices_.load(memory_order_relaxed); }
  /// Returns: slices removed since the bins were made. Thread safety: any thread.
  [[nodiscard]] std::uint64_t taken_slices() const noexcept { return taken_slices_.load(memory_order_relaxed); }

  /// Complexity: O(spans).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t held = 0;
    bool right = true;
    for (std::size_t length = 0; length < tops_.size(); ++length) {
      right = right && (tops_[length] != nullptr) == ((lengths_ >> length & 1) != 0);
      for (const Span* span = tops_[length]; span != nullptr; span = span->next, held += length)
        right = right && span->length == length && span->is_available;
    }
    return right && held == slices();
  }

private:
  // Only the owner writes.
  ASHLAR_INLINE void count(std::size_t more) noexcept { slices_.store(slices() + more, memory_order_relaxed); }

  std::array<Span*, 8 * sizeof(bit_word)> tops_ = {};
  bit_word lengths_ = 0;
  atomic<std::size_t> slices_ = 0;
  atomic<std::uint64_t> taken_slices_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
