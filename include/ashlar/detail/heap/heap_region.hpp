// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The regions of a heap: the adjoining pieces of its segments, and its huge blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/bitmap.hpp>
#include <ashlar/detail/support/function_ref.hpp>

namespace ashlar::ASHLAR_ABI::detail {

enum class region_kind : std::uint8_t {
  head,   ///< metadata at the start of a segment; only the part in use is resident
  slab,   ///< cells of one size class
  run,    ///< a span that is one live block
  spare,  ///< a block recently freed: kept whole for the next of its length
  free,   ///< free slices that were in use before: they may be resident
  fresh,  ///< slices unused since they came from the system: not resident
  huge,   ///< an extent of the upstream: a live block, or one kept for the next of about its size
};

/// A region of a heap.
struct heap_region {
  region_kind kind = region_kind::fresh;
  const std::byte* start = nullptr;
  std::size_t bytes = 0;
  std::size_t size_class = size_classes::none;  ///< of a slab
  std::size_t cell_bytes = 0;                   ///< of a slab
  std::size_t capacity = 0;                     ///< cells of a slab; blocks otherwise
  std::size_t live = 0;                         ///< of these, allocated by callers
  std::size_t dropped_bytes = 0;                ///< of a slab's free cells: decommitted pages, not resident

  [[nodiscard]] static heap_region huge_block(const std::byte* p, std::size_t bytes, bool is_live) noexcept {
    return {.kind = region_kind::huge, .start = p, .bytes = bytes, .capacity = 1, .live = is_live ? 1u : 0u};
  }

  /// Returns: bytes allocated by callers: whole cells, spans or huge blocks, regardless of the requests.
  [[nodiscard]] std::size_t live_bytes() const noexcept { return live * block_bytes(); }
  /// Returns: bytes of free cells and blocks that are kept for others of their size.
  [[nodiscard]] std::size_t spare_bytes() const noexcept { return (capacity - live) * block_bytes(); }
  /// Returns: bytes of a slab outside of cells: in front of the first and after the last.
  [[nodiscard]] std::size_t waste_bytes() const noexcept {
    return kind == region_kind::slab ? bytes - capacity * cell_bytes : 0;
  }
  /// Returns: bytes of one cell or block.
  [[nodiscard]] std::size_t block_bytes() const noexcept { return kind == region_kind::slab ? cell_bytes : bytes; }
};

[[nodiscard]] inline heap_region region_of_slab(segment& home, const span_header& slab) noexcept {
  return {.kind = region_kind::slab,
          .start = home.slice(home.slice_of_record(slab)),
          .bytes = slab.length * slice_bytes,
          .size_class = slab.size_class,
          .cell_bytes = slab.cell_bytes,
          .capacity = slab.capacity,
          .live = std::size_t{slab.capacity} - slab.free - slab.waiting,
          .dropped_bytes = slab.dropped_bytes};
}

[[nodiscard]] inline heap_region region_of_block(segment& home, std::size_t first) noexcept {
  const span_header& run = home.record(first);
  return {.kind = run.waiting != 0 ? region_kind::spare : region_kind::run,
          .start = home.slice(first),
          .bytes = run.length * slice_bytes,
          .capacity = 1,
          .live = 1u - run.waiting};
}

/// Effects: calls `f(heap_region)` for each region of a segment, from its head on. Expects: each span header holds the
/// count of its free cells outside the bitmap; the mark of a block, whether it is free.
ASHLAR_INLINE_FOR_SIZE inline void for_each_region(segment& home, slice_mask free, slice_mask fresh,
                                                   function_ref<const heap_region&> f) {
  const auto empty = [&](region_kind kind, std::size_t first, std::size_t length) {
    f(heap_region{.kind = kind, .start = home.slice(first), .bytes = length * slice_bytes});
  };
  empty(region_kind::head, 0, first_slice);
  for (std::size_t slice = first_slice; slice < home.slices_held();) {
    const std::size_t untouched = run_from(fresh, slice), used = run_from(free & ~fresh, slice);
    const span_header& run = home.record(slice);
    if (untouched != 0) empty(region_kind::fresh, slice, untouched);
    else if (used != 0) empty(region_kind::free, slice, used);
    else if (run.size_class != size_classes::none) f(detail::region_of_slab(home, run));
    else f(detail::region_of_block(home, slice));
    slice += untouched + used != 0 ? untouched + used : run.length;
  }
}

}  // namespace ashlar::ASHLAR_ABI::detail
