// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checks of a block before a heap takes it back, from level checked on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/cell_faults.hpp>
#include <ashlar/detail/heap/exact_sizes.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/heap_registry.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// All checks of a heap's blocks, at four points: a block is handed out, its cell leaves a free list, it is freed, it
/// is used. Ends the process if it is none. Nothing is read through `p`, so it may be any address; level `hardened`
/// reads the bytes around a block that is known to be live. Complexity: O(1) expected.
template <resource Upstream>
class block_check {
public:
  /// `neighbours`: whether the cells beside a block are looked at, as at level `hardened` by the owner alone where it
  /// frees without a lock.
  block_check(const span_store<Upstream>& spans, const void* heap, const block_use& use = freeing_block,
              bool neighbours = true) noexcept
      : spans_(spans), heap_(heap), use_(use), neighbours_(neighbours) {}

  /// Effects: reports an address that is not a live block.
  void expect(const void* p) const noexcept { static_cast<void>(size_of(const_cast<void*>(p))); }

  /// Returns: the bytes held by the live block at `p`. Effects: reports an address that is not a live block, and a
  /// write after it.
  [[nodiscard]] std::size_t size_of(void* p) const noexcept {
    const window* const found = spans_.space().find(p);
    if (found == nullptr) report_foreign(p);
    const std::size_t held = found->is_segment() ? size_in_segment(p) : size_of_huge(p, *found);
    if (found->is_segment()) spans_.space().note_segment(p);
    if constexpr (keeps_canaries) exact_sizes<Upstream>::expect_intact(spans_.space(), p, held, heap_, neighbours_);
    return held;
  }

  /// Effects: reports a block that was not allocated as `bytes` bytes, of class `size_class`: at level `hardened` with
  /// any other size, at `checked` with one of another class or length. Reports an alignment that the block does not
  /// have.
  ASHLAR_NOINLINE void expect(void* p, std::size_t bytes, std::size_t alignment,
                              std::size_t size_class) const noexcept {
    expect_size(p, bytes, alignment, size_class);
    if (ASHLAR_UNLIKELY(!is_aligned(p, alignment))) report_alignment(p, bytes, alignment);
  }

  /// Effects: reports an address that is not a live block, except null. A cell is no longer live afterwards.
  ASHLAR_INLINE void end_life(void* p) const noexcept {
    if (p == nullptr) return;
    if (ASHLAR_UNLIKELY(!spans_.space().has_recent_segment(p) ||
                        !ends_cell(p, segment::size_class_of(p), exact_sizes<Upstream>::any_size)))
      end_any_life(p);
  }

  /// As above; also reports another size or alignment, as `expect`.
  ASHLAR_INLINE void end_life(void* p, std::size_t bytes, std::size_t alignment,
                              std::size_t size_class) const noexcept {
    if (ASHLAR_UNLIKELY(!ends_known_cell(p, bytes, size_class))) end_any_life(p, bytes, alignment, size_class);
  }

  /// @{ As `end_life`, by a thread that holds the lock of the owner and is another one.
  void end_life_by_other(void* p) const noexcept {
    static_cast<void>(size_of(p));
    leave(p, true);
  }
  void end_life_by_other(void* p, std::size_t bytes, std::size_t alignment, std::size_t size_class) const noexcept {
    expect(p, bytes, alignment, size_class);
    leave(p, true);
  }
  /// @}

  /// Effects: begins the life of a cell.
  static ASHLAR_INLINE void begin_life(void* p) noexcept { segment::flip_live(p); }

  /// Effects: ends the life of `p` if it is a live cell of the class, and at level `hardened` intact and of `bytes`
  /// bytes, or of any size. Returns: whether it was; false is a hint only. Expects: level `checked`; `p` lies in a
  /// segment of the calling thread. Thread safety: the owner, without the lock.
  [[nodiscard]] static ASHLAR_INLINE bool ends_own_cell(void* p, std::size_t bytes, std::size_t size_class) noexcept {
    return ends_cell(p, size_class, bytes);
  }
  /// As above, without a call; false also for cells that need one. Expects: `p` is not a sampled address.
  [[nodiscard]] static ASHLAR_INLINE bool ends_own_small(void* p, std::size_t bytes, std::size_t size_class) noexcept {
    if constexpr (!dead_cells_are_zero<Upstream>) return ends_cell(p, size_class, bytes);
    if (size_class == size_classes::none || segment::size_class_of(p) != size_class || !segment::is_live(p))
      return false;
    if (!exact_sizes<Upstream>::poison_intact_small(p, bytes)) return false;
    segment::flip_live(p);
    return true;
  }

  /// Effects: ends the life of `p` if it is a live and intact cell of class `size_class` in a recently noted segment.
  /// Returns: whether it was; false is a hint only.
  [[nodiscard]] ASHLAR_INLINE bool ends_known_cell(void* p, std::size_t bytes, std::size_t size_class) const noexcept {
    return spans_.space().has_recent_segment(p) && ends_cell(p, size_class, bytes);
  }

private:
  // Effects: ends the life of `p` if it is a live cell of the class, which implies its alignment, and at level
  // `hardened` intact and of that size. Returns: whether it was; false is a hint only. Expects: `p` lies in a segment.
  [[nodiscard]] static ASHLAR_INLINE bool ends_cell(void* p, std::size_t size_class,
                                                    [[maybe_unused]] std::size_t bytes) noexcept {
    if (size_class == size_classes::none || segment::size_class_of(p) != size_class || !segment::is_live(p))
      return false;
    if constexpr (segment::requested_sizes::is_there)
      if (!exact_sizes<Upstream>::poison_intact_cell(p, bytes)) return false;
    segment::flip_live(p);
    return true;
  }

  ASHLAR_NOINLINE void end_any_life(void* p) const noexcept {
    static_cast<void>(size_of(p));
    leave(p);
  }

  ASHLAR_NOINLINE void end_any_life(void* p, std::size_t bytes, std::size_t alignment,
                                    std::size_t size_class) const noexcept {
    expect(p, bytes, alignment, size_class);
    leave(p);
  }

  static void leave(void* p, bool by_other = false) noexcept {
    if (class_of_block(p) == size_classes::none) return;
    if constexpr (segment::requested_sizes::is_there) poison_cell<Upstream>(p);
    by_other ? segment::flip_live_by_other(p) : segment::flip_live(p);
  }

  void expect_size(void* p, std::size_t bytes, std::size_t alignment, std::size_t size_class) const noexcept {
    const std::size_t held = size_of(p);
    bool is_exact = false;
    if constexpr (segment::requested_sizes::is_there) {
      const std::size_t exact = exact_sizes<Upstream>::of(spans_.space(), p);
      is_exact = at_least_one_byte(bytes) == exact;
      if (!is_exact) report_mismatch(p, {.what = use_.size, .size = exact, .expected = exact, .got = bytes});
    }
    if (ASHLAR_LIKELY(is_size_of(p, held, bytes, size_class))) return;
    is_exact ? report_alignment(p, bytes, alignment) : report_extent(p, bytes, alignment);
  }

  [[nodiscard]] static bool is_size_of(void* p, std::size_t held, std::size_t bytes, std::size_t size_class) noexcept {
    if (is_aligned(p, window_bytes)) return size_class == size_classes::none && is_size_of_huge(held, bytes);
    if (segment::size_class_of(p) != size_classes::none) return segment::size_class_of(p) == size_class;
    return size_class == size_classes::none &&
           usable_bytes<Upstream>(slices_of(with_guard<Upstream>(with_canary(bytes)))) == held;
  }

  // A huge block keeps up to a quarter more than requested after it shrank, and less if it was a spare extent before.
  [[nodiscard]] static bool is_size_of_huge(std::size_t held, std::size_t bytes) noexcept {
    const std::size_t least = with_canary(detail::max<std::size_t>(bytes, 1));
    return least <= held && align_up(least, 4096) >= held - held / 4;
  }

  [[nodiscard]] std::size_t size_in_segment(void* p) const noexcept {
    if (segment::slice_of(p) < first_slice) report_at(p, fault::invalid_free, use_.of_head);
    if (!spans_.is_taken(p)) report_at(p, fault::double_free, use_.dead);
    return segment::size_class_of(p) != size_classes::none ? size_of_cell(p) : size_of_span(p);
  }

  [[nodiscard]] std::size_t size_of_huge(const void* p, const window& found) const noexcept {
    if (p != found.start) report_at(p, fault::misaligned_free, use_.inside, found.bytes());
    if (spans_.space().is_spare(p)) report_at(p, fault::double_free, use_.dead, found.bytes());
    return found.bytes();
  }

  [[nodiscard]] std::size_t size_of_cell(void* p) const noexcept {
    span_header& slab = segment::slab_of(p);
    if (!slab.is_cell(p)) report_at(p, fault::misaligned_free, use_.inside, slab.cell_bytes);
    if (!segment::is_live(p)) report_at(p, fault::double_free, use_.dead, slab.cell_bytes);
    return slab.cell_bytes;
  }

  [[nodiscard]] std::size_t size_of_span(void* p) const noexcept {
    const std::size_t slice = segment::slice_of(p);
    const span_header& span = segment::of(p)->record(slice);
    if (span.first != slice || !is_aligned(p, slice_bytes)) report_at(p, fault::misaligned_free, use_.inside);
    const std::size_t bytes = usable_bytes<Upstream>(span.length);
    if (span.is_available) report_at(p, fault::double_free, use_.dead, bytes);
    return bytes;
  }

  // Pools lie in blocks of heaps, so their registry comes first.
  [[noreturn]] ASHLAR_COLD void report_foreign(const void* p) const noexcept {
    if (const cell_place cell = process_slabs.find(p); cell.owner != nullptr)
      report({.kind = fault::wrong_pool,
              .what = use_.of_pool,
              .pointer = p,
              .resource = heap_,
              .owner = cell.owner,
              .size = cell.cell_bytes});
    if (const void* const owner = process_heaps.find(extent_at{p}); owner != nullptr && owner != heap_)
      report({.kind = fault::wrong_pool, .what = use_.of_other_heap, .pointer = p, .resource = heap_, .owner = owner});
    report_at(p, fault::invalid_free, use_.foreign);
  }

  [[noreturn]] ASHLAR_COLD void report_at(const void* p, fault kind, const char* what,
                                          std::size_t size = 0) const noexcept {
    report({.kind = kind, .what = what, .pointer = p, .resource = heap_, .size = size});
  }

  [[noreturn]] ASHLAR_COLD void report_mismatch(const void* p, violation seen) const noexcept {
    seen.kind = fault::size_mismatch;
    seen.pointer = p;
    seen.resource = heap_;
    report(seen);
  }

  // What the caller gave, and what the block has; the alignment of its allocation is not kept.
  [[noreturn]] ASHLAR_COLD void report_alignment(void* p, std::size_t bytes, std::size_t alignment) const noexcept {
    report_mismatch(p, {.what = use_.alignment, .size = bytes, .block_bytes = size_of(p), .alignment = alignment});
  }

  // The same where the size of the allocation is not kept, so that either may be wrong.
  [[noreturn]] ASHLAR_COLD void report_extent(void* p, std::size_t bytes, std::size_t alignment) const noexcept {
    report_mismatch(p, {.what = use_.size, .got = bytes, .block_bytes = size_of(p), .alignment = alignment});
  }

  const span_store<Upstream>& spans_;
  const void* heap_;
  const block_use& use_;
  const bool neighbours_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
