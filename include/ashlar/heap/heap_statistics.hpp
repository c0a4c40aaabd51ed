// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The contents of a heap in numbers: live, spare and wasted bytes by size class, free memory, and avoided page faults.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/os/pages.hpp>

namespace ashlar::ASHLAR_ABI {

/// Invariant: `held_bytes == all.held_bytes() + free_bytes + fresh_bytes + head_bytes`; `all` is the sum over the size
/// classes, spans and huge blocks.
struct heap_statistics {
  /// The share of one size class in a heap, or of all spans, or of all huge blocks.
  /// `live_bytes` counts whole cells and spans. Only level `hardened` keeps the requested sizes, so the rounding in
  /// them is not counted. Alignment aside, a cell exceeds the request by at most 12.5 % or 15 bytes. A span exceeds it
  /// by less than a slice; at `fast` by up to a half if it was recently freed. A huge block exceeds it by up to as
  /// much again.
  struct share {
    std::size_t live_blocks = 0;    ///< allocated by callers
    std::size_t live_bytes = 0;     ///< of the live blocks: whole cells, spans and huge blocks
    std::size_t spare_blocks = 0;   ///< free cells of slabs and of caches; spans and huge blocks recently freed
    std::size_t spare_bytes = 0;    ///< of the spare blocks
    std::size_t dropped_bytes = 0;  ///< of the spare bytes: purged pages of slabs, which are not resident
    std::size_t waste_bytes = 0;    ///< of slabs, outside of cells: in front of the first and after the last
    std::size_t slabs = 0;          ///< of the size class

    [[nodiscard]] std::size_t held_bytes() const noexcept { return live_bytes + spare_bytes + waste_bytes; }

    void add(const heap_region& piece) noexcept {
      live_blocks += piece.live;
      live_bytes += piece.live_bytes();
      spare_blocks += piece.capacity - piece.live;
      spare_bytes += piece.spare_bytes();
      dropped_bytes += piece.dropped_bytes;
      waste_bytes += piece.waste_bytes();
      slabs += piece.kind == region_kind::slab ? 1 : 0;
    }

    share& operator+=(const share& other) noexcept {
      live_blocks += other.live_blocks;
      live_bytes += other.live_bytes;
      spare_blocks += other.spare_blocks;
      spare_bytes += other.spare_bytes;
      dropped_bytes += other.dropped_bytes;
      waste_bytes += other.waste_bytes;
      slabs += other.slabs;
      return *this;
    }

    [[nodiscard]] friend bool operator==(const share&, const share&) noexcept = default;
  };

  std::array<share, detail::size_classes::count + 1> of_class = {};  ///< by size class; none has 0
  share spans;                                                       ///< blocks of whole slices
  share huge;                                                        ///< blocks that are extents of the upstream
  share all;
  std::size_t segments = 0;
  std::size_t held_bytes = 0;   ///< from the upstream; not all of it is resident
  std::size_t free_bytes = 0;   ///< free slices that were in use before: they may be resident
  std::size_t fresh_bytes = 0;  ///< free slices untouched since they were mapped or purged: not resident
  std::size_t head_bytes = 0;   ///< headers of segments; only the part in use is resident
  std::size_t table_bytes = 0;  ///< from the upstream, for tables; not in `held_bytes`
  /// Of `all.live_bytes`: approximate bytes in the caches of other running threads, which only their owner may read.
  /// The estimate counts cells of sampled addresses. 0 for a heap of one thread, and from level `checked` on; of the
  /// heap of the process, at `hardened`.
  std::size_t cached_bytes = 0;
  /// Pages of slabs, spans and huge blocks that were handed out again, possibly still resident, since the heap was
  /// made. An immediate purge would have cost up to one page fault for each. The number is an upper bound, since the
  /// caller may not touch every page. Cells reused inside a slab do not count, nor do blocks that grew or moved. 0
  /// unless the upstream is a page resource of the system.
  std::uint64_t page_faults_avoided = 0;

  void add(const heap_region& piece) noexcept {
    all.add(piece);
    switch (piece.kind) {
      case region_kind::head: ++segments, head_bytes += piece.bytes; break;
      case region_kind::slab: of_class[piece.size_class].add(piece); break;
      case region_kind::span:
      case region_kind::spare: spans.add(piece); break;
      case region_kind::huge: huge.add(piece); break;
      case region_kind::free: free_bytes += piece.bytes; break;
      case region_kind::fresh: fresh_bytes += piece.bytes; break;
    }
    held_bytes += piece.bytes;
  }

  [[nodiscard]] bool invariant() const noexcept {
    share sum = spans;
    for (const share& each : of_class) sum += each;
    sum += huge;
    return sum == all && held_bytes == all.held_bytes() + free_bytes + fresh_bytes + head_bytes;
  }
};

/// Returns: the contents of `heap` now; of a heap for any thread, as its `inspect`. Blocks stay unchanged;
/// remote frees that have arrived are drained.
/// Complexity: O(slices and cells outside bitmaps).
template <class Heap>
[[nodiscard]] heap_statistics statistics_of(const Heap& heap) noexcept {
  heap_statistics sums;
  heap.inspect([&](const heap_region& piece) { sums.add(piece); });
  sums.table_bytes = heap.table_bytes();
  if constexpr (requires { heap.cached_bytes(); }) sums.cached_bytes = heap.cached_bytes();
  sums.page_faults_avoided = heap.reused_bytes() / os::pages::page_bytes();
  return sums;
}

}  // namespace ashlar::ASHLAR_ABI
