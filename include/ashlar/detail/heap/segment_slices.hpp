// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The slices of one segment by their state: taken, free and used before, free and fresh.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/support/bitmap.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Invariant: `dropped` is part of `fresh`, `fresh` of `free`, and `free` of the slices behind the head. The mask of
/// fresh slices stands in the head while the segment goes from one owner to the next. Thread safety: none.
struct segment_slices {
  segment* home;
  slice_mask free;
  slice_mask fresh;        ///< of the free ones: unused since they came from the system, all zero
  slice_mask dropped = 0;  ///< of the fresh ones: decommitted after use
  slice_mask started = 0;  ///< starts of former runs: their first pages are resident

  /// Returns: the slices behind the head of a segment of `bytes` bytes.
  [[nodiscard]] static constexpr slice_mask all_of(std::size_t bytes) noexcept {
    return ones(first_slice, bytes / slice_bytes - first_slice);
  }

  /// Returns: free slices that have been used: their pages may be resident.
  [[nodiscard]] slice_mask used() const noexcept { return free & ~fresh; }
  [[nodiscard]] std::size_t dirty() const noexcept { return count_bits(used()); }
  [[nodiscard]] bool is_unused() const noexcept { return free == all_of(home->head.bytes); }

  /// Returns: of possible starts the lowest at which a span has started before, or else the lowest.
  [[nodiscard]] std::size_t first_of(slice_mask starts) const noexcept {
    return first_bit((starts & started) != 0 ? starts & started : starts);
  }

  /// Effects: takes free slices as one run.
  void take(std::size_t first, std::size_t length) noexcept {
    free &= ~ones(first, length);
    fresh &= free;
    dropped &= free;
    started |= slice_mask{1} << first;
  }

  /// Effects: counts free slices as decommitted.
  void drop(std::size_t first, std::size_t length) noexcept {
    fresh |= ones(first, length);
    dropped |= ones(first, length);
    started &= ~ones(first, length);
  }

  /// Effects: leaves the mask of fresh slices to the next owner. Expects: the segment is unused.
  void hand_over() const noexcept { home->head.fresh = fresh; }

  [[nodiscard]] bool invariant() const noexcept {
    return (free & ~all_of(home->head.bytes)) == 0 && (fresh & ~free) == 0 && (dropped & ~fresh) == 0;
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
