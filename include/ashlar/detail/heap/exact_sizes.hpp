// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The requested size of each block of a heap at level hardened, and the guards that depend on it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/checks/watched_slack.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bitmap.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

[[nodiscard]] inline std::uint16_t* sizes_in(span_header& slab) noexcept {
  segment& home = *segment::of(&slab);
  return home.requested.of_slice(home.slice_of_record(slab));
}

[[nodiscard]] inline std::uint16_t& size_of_cell(void* cell) noexcept {
  span_header& slab = segment::slab_of(cell);
  return sizes_in(slab)[slab.index_of(cell)];
}

/// Returns: the size class of a live block, or none.
[[nodiscard]] inline std::size_t class_of_block(void* p) noexcept {
  return is_aligned(p, window_bytes) ? size_classes::none : segment::owner_of(p);
}

/// Whether free cells are zero, and not poison: then those that were never used are the same, and the bytes of a secret
/// go with their block. Expects: an upstream that gives zeroes.
template <class Upstream>
inline constexpr bool dead_cells_are_zero = page_discard<Upstream>::has_guards;

/// The byte that fills free cells.
template <class Upstream>
inline constexpr unsigned char dead_byte = dead_cells_are_zero<Upstream> ? 0 : poison_byte;

/// Effects: fills a freed cell. Expects: level hardened.
template <class Upstream>
void poison_cell(void* cell) noexcept {
  detail::size_of_cell(cell) = keeps_canaries ? dead_cell : never_used;
  if constexpr (keeps_canaries) fill_free(cell, segment::slab_of(cell).cell_bytes, dead_byte<Upstream>);
}

/// Effects: reports a write to a free cell among the cells `first` to `last` of a slab, `last` excluded; marks them as
/// never used. Expects: level hardened.
template <class Upstream>
void verify_poison_of_cells(span_header& slab, std::size_t first, std::size_t last, const void* heap) noexcept {
  std::uint16_t* const sizes = detail::sizes_in(slab);
  for (std::size_t i = first; i < last; ++i) {
    if (sizes[i] != dead_cell) continue;
    verify_free(slab.cell(i), slab.cell_bytes, dead_byte<Upstream>, heap);
    sizes[i] = never_used;
  }
}

/// Effects: poisons the byte before the first cell of a new slab, if it has one. Expects: level hardened.
inline void poison_front(const span_header& slab) noexcept {
  if (!is_aligned(slab.cells, slice_bytes)) poison_block(slab.cells - 1, 1);
}

/// Effects: poisons a freed block of slices. Expects: level hardened.
inline void poison_run(span_header& run) noexcept {
  const std::size_t length = detail::min<std::size_t>(run.length, most_poisoned_of_run / slice_bytes);
  poison_block(run.cells, length * slice_bytes);
  *segment::of(&run)->requested.poisoned() |= ones(run.first, length);
}

/// Effects: reports a write to a free block that starts in a poisoned slice of `which`; marks these slices as never
/// used. Expects: level hardened.
inline void verify_poison_of_runs(segment& home, slice_mask which, const void* heap) noexcept {
  slice_mask& poisoned = *home.requested.poisoned();
  for_each_bit(poisoned & which, [&](std::size_t slice) {
    mark_readable(home.slice(slice), slice_bytes);
    if (ASHLAR_UNLIKELY(!is_poisoned(home.slice(slice), slice_bytes)))
      report_poison(home.slice(home.record(slice).first), slice_bytes, heap);
    mark_live(home.slice(slice), slice_bytes);
  });
  poisoned &= ~which;
}

/// The sizes: two bytes for each cell, in the head of its segment; four bytes in the span header of a block of slices;
/// a word beside the window of a huge block. An empty request counts as one byte. All calls expect level hardened and a
/// live block. Thread safety: none. Complexity: O(1) and the canary's bytes.
template <resource Upstream>
class exact_sizes {
public:
  exact_sizes(extent_map<Upstream>& space, const void* heap) noexcept : space_(space), heap_(heap) {}

  /// Returns: the bytes of a block that its caller may use.
  [[nodiscard]] static std::size_t of(const extent_map<Upstream>& space, void* p) noexcept {
    if (is_aligned(p, window_bytes)) return space.find(p)->requested.get();
    if (segment::owner_of(p) != size_classes::none) return detail::size_of_cell(p);
    return segment::of(p)->record(segment::slice_of(p)).cell_bytes;
  }

  /// Effects: reports writes past the end of a block of `held` bytes, or in front of a cell.
  static void expect_intact(const extent_map<Upstream>& space, void* p, std::size_t held, const void* heap) noexcept {
    if constexpr (keeps_canaries) {
      const std::size_t bytes = of(space, p);
      expect_canary(p, bytes, end_of_canary(p, bytes, held), heap);
      if (!is_cell(p)) return;
      if (!is_front_whole(segment::slab_of(p), p)) report_write_before(p, bytes, heap);
      if (is_zero_when_dead && !is_back_zero(segment::slab_of(p), p))
        report_write_behind(p, bytes, bytes, held + most_around, heap);
    }
  }

  /// Effects: poisons a live cell of `bytes` bytes, or of any size for `any_size`, with intact guards. Returns: whether
  /// it was one; if not, nothing changes.
  [[nodiscard]] static bool poison_intact_cell(void* cell, std::size_t bytes) noexcept {
    span_header& slab = segment::slab_of(cell);
    std::uint16_t& size = detail::sizes_in(slab)[slab.index_of(cell)];
    if (bytes != any_size && size != at_least_one_byte(bytes)) return false;
    if constexpr (keeps_canaries) {
      if (!is_canary_whole(cell, size, slab.cell_bytes) || !is_front_whole(slab, cell)) return false;
      if (is_zero_when_dead && !is_back_zero(slab, cell)) return false;
      if constexpr (is_zero_when_dead) fill_free(cell, slab.cell_bytes, dead_byte<Upstream>);
      else poison_block(cell, size);  // the canary after it is poison already
    }
    size = keeps_canaries ? dead_cell : never_used;
    return true;
  }
  static constexpr std::size_t any_size = max_size;

  /// Effects: hands a free cell out. Reports a write to it since its free.
  void hand_out_cell(void* cell, std::size_t bytes) noexcept {
    span_header& slab = segment::slab_of(cell);
    std::uint16_t& size = detail::sizes_in(slab)[slab.index_of(cell)];
    const std::size_t kept = at_least_one_byte(bytes);
    if (ASHLAR_LIKELY(size == dead_cell)) verify_free(cell, slab.cell_bytes, dead_byte<Upstream>, heap_);
    if (is_zero_when_dead || size != dead_cell) write_canary(cell, kept, slab.cell_bytes);
    size = static_cast<std::uint16_t>(kept);
    if constexpr (keeps_canaries && !is_zero_when_dead) watch_front(slab, cell);
    mark_block(cell, 0, kept, slab.cell_bytes);
  }

  /// Effects: hands slices or pages out.
  void hand_out_large(void* p, std::size_t bytes) noexcept { keep(p, at_least_one_byte(bytes), 0); }

  /// Effects: sets the size of a block to `bytes`; its first `were` bytes have contents.
  void resize(void* p, std::size_t were, std::size_t bytes) noexcept {
    if (is_aligned(p, window_bytes) || segment::owner_of(p) == size_classes::none)
      return keep(p, at_least_one_byte(bytes), were);
    detail::size_of_cell(p) = static_cast<std::uint16_t>(at_least_one_byte(bytes));
    guard(p, at_least_one_byte(bytes), segment::slab_of(p).cell_bytes, were);
  }

private:
  static constexpr bool is_zero_when_dead = dead_cells_are_zero<Upstream>;

  // A longer canary would touch pages that the caller does not use.
  static constexpr std::size_t most_behind_others = 256;
  // Bytes of free cells beside a cell that are looked at.
  static constexpr std::size_t most_around = 32;

  void keep(void* p, std::size_t bytes, std::size_t were) noexcept {
    if (is_aligned(p, window_bytes)) {
      space_.keep_requested(p, bytes);
      return guard(p, bytes, space_.find(p)->bytes(), were);
    }
    span_header& run = segment::of(p)->record(segment::slice_of(p));
    run.cell_bytes = static_cast<std::uint32_t>(bytes);
    guard(p, bytes, usable_bytes<Upstream>(run.length), were);
  }

  [[nodiscard]] static bool is_cell(void* p) noexcept { return class_of_block(p) != size_classes::none; }

  [[nodiscard]] static std::size_t end_of_canary(void* p, std::size_t bytes, std::size_t held) noexcept {
    return is_cell(p) ? held : detail::min(held, bytes + most_behind_others);
  }

  // The byte before a cell is the canary of a live cell, or the poison of a free cell or of the slab's front. A cell
  // that was never used is poisoned like a free one, so that the byte exists.
  ASHLAR_INLINE static void watch_front(span_header& slab, void* cell) noexcept {
    if (ASHLAR_UNLIKELY(has_front(slab, cell) && !is_canary_before(cell) && is_behind_unused(slab, cell)))
      poison_cell<Upstream>(static_cast<std::byte*>(cell) - slab.cell_bytes);
  }

  // The byte before a first cell at the start of a slice belongs to another span.
  [[nodiscard]] ASHLAR_INLINE static bool has_front(const span_header& slab, const void* cell) noexcept {
    return !is_aligned(cell, slice_bytes) || slab.cells != cell;
  }

  [[nodiscard]] ASHLAR_INLINE static bool is_front_whole(span_header& slab, const void* cell) noexcept {
    return is_zero_when_dead ? is_front_zero(slab, cell) : is_front_intact(slab, cell);
  }

  // As `is_front_zero`, for the free cells behind a cell.
  [[nodiscard]] ASHLAR_INLINE static bool is_back_zero(span_header& slab, const void* cell) noexcept {
    const std::uint16_t* const sizes = detail::sizes_in(slab);
    const std::size_t index = slab.index_of(cell);
    for (std::size_t next = index + 1, left = most_around; left != 0 && next < slab.capacity; ++next) {
      if (is_live_size(sizes[next])) return true;
      const std::size_t bytes = detail::min<std::size_t>(left, slab.cell_bytes);
      if (!is_filled(slab.cell(next), bytes, 0)) return false;
      left -= bytes;
    }
    return true;
  }

  // Whether the bytes in front of a cell are zero, as far as they belong to no live cell, and the canary of a live one.
  [[nodiscard]] ASHLAR_INLINE static bool is_front_zero(span_header& slab, const void* cell) noexcept {
    const std::uint16_t* const sizes = detail::sizes_in(slab);
    std::size_t index = slab.index_of(cell), left = most_around;
    for (const auto* end = static_cast<const std::byte*>(cell);;) {
      const bool is_first = index == 0;
      if (!is_first && is_live_size(sizes[--index])) return is_canary_before(end);
      const std::size_t room = is_first ? address_of(end) % slice_bytes : slab.cell_bytes;
      const std::size_t bytes = detail::min(left, room);
      if (!is_filled(end - bytes, bytes, 0)) return false;
      if (is_first || (left -= bytes) == 0) return true;
      end -= bytes;
    }
  }
  [[nodiscard]] static bool is_live_size(std::uint16_t size) noexcept {
    return size != never_used && size != dead_cell;
  }

  [[nodiscard]] ASHLAR_INLINE static bool is_front_intact(span_header& slab, const void* cell) noexcept {
    return !has_front(slab, cell) || is_canary_before(cell) || is_behind_unused(slab, cell);
  }

  // Whether the cell before was never used, or its pages have been decommitted since.
  [[nodiscard]] ASHLAR_NOINLINE static bool is_behind_unused(span_header& slab, const void* cell) noexcept {
    const std::uint32_t index = slab.index_of(cell);
    return index != 0 && detail::sizes_in(slab)[index - 1] == never_used;
  }

  // `were`: bytes with contents of the caller.
  static void guard(void* p, std::size_t bytes, std::size_t held, std::size_t were) noexcept {
    write_canary(p, bytes, end_of_canary(p, bytes, held));
    mark_block(p, were, bytes, held);
  }

  extent_map<Upstream>& space_;
  const void* heap_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
