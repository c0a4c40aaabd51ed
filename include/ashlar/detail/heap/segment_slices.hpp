// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The slices of one segment by their state: taken, free and used before, free and fresh.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bitmap.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/function_ref.hpp>

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

  /// Effects: adds the slices from `first` on, which the segment has got. `is_fresh`: they are all zero.
  void lengthen(std::size_t first, bool is_fresh) noexcept {
    const slice_mask more = ones(first, home->slices_held() - first);
    free |= more;
    fresh |= is_fresh ? more : 0;
  }

  /// Effects: counts free slices as decommitted.
  void drop(std::size_t first, std::size_t length) noexcept {
    fresh |= ones(first, length);
    dropped |= ones(first, length);
    started &= ~ones(first, length);
  }

  /// Effects: calls `f(segment&, first slice, slices)` for each slab or block, the lowest slice first. `f` may not take
  /// or give runs.
  void for_each_run(function_ref<segment&, std::size_t, std::size_t> f) const {
    for (std::size_t slice = first_slice; slice < home->slices_held();) {
      const std::size_t open = run_from(free, slice);
      if (open == 0) f(*home, slice, std::size_t{home->record(slice).length});
      slice += open != 0 ? open : home->record(slice).length;
    }
  }

  /// Effects: leaves the mask of fresh slices to the next owner. Expects: the segment is unused.
  void hand_over() const noexcept { home->head.fresh = fresh; }

  [[nodiscard]] bool invariant() const noexcept {
    return (free & ~all_of(home->head.bytes)) == 0 && (fresh & ~free) == 0 && (dropped & ~fresh) == 0;
  }
};

/// Returns: the slices that are still zero in `memory` for a segment from an upstream with the properties `Pages`. A
/// cached segment has a head already.
template <class Pages>
[[nodiscard]] slice_mask fresh_slices_of(void* memory, slice_mask all) noexcept {
  if constexpr (!Pages::gives_zeroes) return 0;
  return Pages::is_shared && segment::of(memory)->head.bytes != 0 ? segment::of(memory)->head.fresh : all;
}

/// Returns: of the first eight of `longest`, upper bounds of the longest runs of free slices in segments, those of at
/// least `length`: the highest bit of a byte for each.
[[nodiscard]] inline std::uint64_t long_enough(const std::uint8_t* longest, std::size_t length) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101u;
  std::uint64_t bounds = 0;
  if constexpr (std::endian::native == std::endian::little) std::memcpy(&bounds, longest, sizeof bounds);
  else
    for (std::size_t i = 8; i-- != 0;) bounds = bounds << 8 | longest[i];
  return (bounds + ones * (0x80 - length)) & (ones << 7);
}

/// Returns: the bytes of a segment to ask for after `wish` was refused: an eighth less, down to `least`; then 0.
[[nodiscard]] constexpr std::size_t next_wish(std::size_t wish, std::size_t least) noexcept {
  const std::size_t eighth = detail::max(slice_bytes, align_down(wish / 8, slice_bytes));
  return wish != least ? detail::max(least, wish - eighth) : 0;
}

}  // namespace ashlar::ASHLAR_ABI::detail
