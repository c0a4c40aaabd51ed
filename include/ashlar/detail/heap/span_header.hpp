// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The header of a span of slices: a slab of equal cells, or one block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bitmap.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// One bit for each slice. A free sets the bits of a run, which joins it with its neighbours without further work.
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
struct slice_run {
  std::byte* data = nullptr;
  bool is_zero = false;
};

/// Returns: the block, or null, with its first `bytes` bytes zero.
inline void* zeroed(const slice_run& got, std::size_t bytes) noexcept {
  if (got.is_zero) mark_readable(got.data, bytes);  // otherwise Valgrind takes the zeroes for undefined
  else if (got.data != nullptr) std::memset(got.data, 0, bytes);
  return got.data;
}

}  // namespace ashlar::ASHLAR_ABI::detail
