// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What lies in a heap, as numbers: live, spare and wasted by class, what is free, and page faults that were spared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/heap_region.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/os/pages.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

/// Invariant: `held_bytes == all.held_bytes() + free_bytes + fresh_bytes + head_bytes`, and `all` is the sum of the
/// classes, runs and huge blocks.
struct heap_statistics {
  /// What a class has of a heap, or all runs have, or all huge blocks.
  /// `live_bytes` counts whole cells and runs: what was asked for is kept at level `hardened` alone, so how much of
  /// them is rounding is not said. Alignments apart, a cell is at most 12.5 % larger than what was asked for, or 15
  /// bytes; a run nearly a slice, and at `fast` a quarter where it was freed lately; a huge block an eighth, or a third
  /// once it shrank.
  struct share {
    std::size_t live_blocks = 0;    ///< that callers have
    std::size_t live_bytes = 0;     ///< of these: whole cells, runs and huge blocks
    std::size_t spare_blocks = 0;   ///< free cells of its slabs, wherever they wait; runs and huge blocks freed lately
    std::size_t spare_bytes = 0;    ///< of these
    std::size_t dropped_bytes = 0;  ///< of the spare ones: pages that went back out of slabs, and are not resident
    std::size_t waste_bytes = 0;    ///< of its slabs, in no cell: in front of the first, behind the last
    std::size_t slabs = 0;          ///< of a class

    [[nodiscard]] std::size_t held_bytes() const noexcept { return live_bytes + spare_bytes + waste_bytes; }

    void add(const detail::heap_region& piece) noexcept {
      live_blocks += piece.live;
      live_bytes += piece.live_bytes();
      spare_blocks += piece.capacity - piece.live;
      spare_bytes += piece.spare_bytes();
      dropped_bytes += piece.dropped_bytes;
      waste_bytes += piece.waste_bytes();
      slabs += piece.kind == detail::region_kind::slab ? 1 : 0;
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

  std::array<share, detail::size_classes::count + 1> of_class = {};  ///< by number; none has 0
  share runs;                                                        ///< blocks of whole slices
  share huge;                                                        ///< blocks of the upstream's own
  share all;
  std::size_t segments = 0;
  std::size_t held_bytes = 0;   ///< of the upstream; not all of it need be resident
  std::size_t free_bytes = 0;   ///< free slices that somebody has had: they may be resident
  std::size_t fresh_bytes = 0;  ///< free slices that are untouched since they came from the system: not resident
  std::size_t head_bytes = 0;   ///< heads of segments; only what was needed of them is resident
  std::size_t table_bytes = 0;  ///< of the upstream too, for tables; not in `held_bytes`
  /// Of `all.live_bytes`: about so much is free and at hand of threads that go on, which alone may look at it; by the
  /// cells among it that count. 0 where one thread has the heap, and from level `checked` on.
  std::size_t at_hand_bytes = 0;
  /// Pages of slabs, runs and huge blocks that were handed out again since the heap was made, while they could still be
  /// resident. Had they gone back to the system as soon as they were free, touching them would have been so many page
  /// faults: all of them is the most that were spared, since nobody knows which were touched. Cells reused inside a
  /// slab and blocks that grew or moved do not count. 0 where the upstream is not the system's pages, of which alone it
  /// is known.
  std::uint64_t page_faults_avoided = 0;

  void add(const detail::heap_region& piece) noexcept {
    all.add(piece);
    switch (piece.kind) {
      case detail::region_kind::head: ++segments, head_bytes += piece.bytes; break;
      case detail::region_kind::slab: of_class[piece.size_class].add(piece); break;
      case detail::region_kind::run:
      case detail::region_kind::spare: runs.add(piece); break;
      case detail::region_kind::huge: huge.add(piece); break;
      case detail::region_kind::free: free_bytes += piece.bytes; break;
      case detail::region_kind::fresh: fresh_bytes += piece.bytes; break;
    }
    held_bytes += piece.bytes;
  }

  [[nodiscard]] bool invariant() const noexcept {
    share sum = runs;
    for (const share& each : of_class) sum += each;
    sum += huge;
    return sum == all && held_bytes == all.held_bytes() + free_bytes + fresh_bytes + head_bytes;
  }
};

/// Returns: what `heap` holds now: of one for any thread what `heap_survey` says. The heap stays as it is. Complexity:
/// O(slices and cells that wait outside bitmaps).
template <class Heap>
[[nodiscard]] heap_statistics statistics_of(const Heap& heap) noexcept {
  heap_statistics sums;
  heap.inspect([&](const detail::heap_region& piece) { sums.add(piece); });
  sums.table_bytes = heap.table_bytes();
  if constexpr (requires { heap.at_hand_bytes(); }) sums.at_hand_bytes = heap.at_hand_bytes();
  sums.page_faults_avoided = heap.reused_bytes() / os::pages::page_bytes();
  return sums;
}

}  // namespace ASHLAR_ABI
}  // namespace ashlar
