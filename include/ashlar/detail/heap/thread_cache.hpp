// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The thread cache of a heap: a free list for each size class, free spans, and the bytes of both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The bytes that one sampled address stands for, by size class.
inline constexpr auto sampled_bytes_of = [] {
  std::array<std::uint32_t, size_classes::count + 1> made{};
  for (std::size_t i = 1; i < made.size(); ++i) made[i] = static_cast<std::uint32_t>(bytes_per_sample(i));
  return made;
}();

/// The cells in about 256 KiB, by size class.
inline constexpr auto listed_cells_of = [] {
  std::array<std::uint16_t, size_classes::count + 1> made{};
  for (std::size_t i = 1; i < made.size(); ++i)
    made[i] = static_cast<std::uint16_t>(std::size_t{256} * 1024 / size_classes::bytes_of(i) + 16);
  return made;
}();

/// A free list of cells for each size class (list 0 stays empty), and free spans. A cell has at least one word, or two
/// at level `checked`. The link in a cell points to the second cell below it:
///
///       top    next   link(top)   link(next)   link(link(top)) …
///       s0     s1     s2          s3           s4
///
/// A pop of a plain list waits for the load of the previous link; here that load has the time of one more pop. Tops and
/// nexts lie in separate arrays: compilers move two neighbouring words as one vector, and the next load then stalls
/// until that store has left the store buffer.
///
/// Only cells at sampled addresses are counted: by the caller of `push` and `pop`, who has tested for them anyway.
/// Spans are cached where a lock stands in front of the others. Thread safety: none, but for `bytes` and
/// `reused_span_bytes`. Never allocates.
class thread_cache {
public:
  /// The cells that leave a batch together.
  static constexpr int cells_at_once = 8;
  /// A link in a dead cell could be forged: at level `hardened` a cell goes to its bitmap at once, as in a pool.
  static constexpr bool has_links = checking_level < checking::hardened;
  /// The bytes of a link, which at level `checked` has a seal after it.
  static constexpr bool seals_links = checking_level == checking::checked;
  static constexpr std::size_t link_bytes = sizeof(void*) * (seals_links ? 2 : 1);

  /// Effects: limits each list to about 256 KiB and to `max_cells` cells.
  explicit constexpr thread_cache(std::size_t max_cells = 4096) noexcept
      : max_cells_(static_cast<std::uint32_t>(detail::min(max_cells, std::size_t{UINT16_MAX}))) {}

  [[nodiscard]] ASHLAR_INLINE bool is_empty(std::size_t size_class) const noexcept {
    return top_[size_class] == nullptr;
  }

  ASHLAR_INLINE void push(std::size_t size_class, void* cell) noexcept {
    void* const top = top_[size_class];
    link(cell, next_[size_class]);
    next_[size_class] = top;
    top_[size_class] = cell;
  }

  /// Returns: the cell pushed last, or null. Its first word still holds the link.
  [[nodiscard]] ASHLAR_INLINE void* pop(std::size_t size_class) noexcept {
    void* const cell = top_[size_class];
    if (ASHLAR_LIKELY(cell != nullptr)) pop_top(size_class, cell);
    return cell;
  }

  /// Returns: the cell pushed last, or null, without removing it.
  [[nodiscard]] ASHLAR_INLINE void* top_of(std::size_t size_class) const noexcept { return top_[size_class]; }

  /// Returns: whether the link of a listed cell is the one that `push` stored; true if links have no seal.
  [[nodiscard]] static ASHLAR_INLINE bool is_sound(const void* cell) noexcept {
    if constexpr (!seals_links) return true;
    mark_readable(cell, link_bytes);
    void* const link = *static_cast<void* const*>(cell);
    return static_cast<const std::uintptr_t*>(cell)[1] == seal(cell, address_of(link));
  }

  /// As `pop`. Expects: `cell` is the top.
  ASHLAR_INLINE void pop_top(std::size_t size_class, void* cell) noexcept {
    mark_readable(cell, sizeof(void*));
    top_[size_class] = next_[size_class];
    next_[size_class] = *static_cast<void**>(cell);
  }

  /// Cells linked as the cells of a list, by the two upper ones.
  struct linked_cells {
    void *top, *next;

    /// Returns: the cell pushed last, or null. Its first word still holds the link.
    [[nodiscard]] ASHLAR_INLINE void* pop() noexcept {
      void* const cell = top;
      if (cell == nullptr) return nullptr;
      mark_readable(cell, sizeof(void*));
      top = next;
      next = *static_cast<void**>(cell);
      return cell;
    }
  };
  /// Returns: the cells of a list, which is empty now.
  [[nodiscard]] ASHLAR_INLINE linked_cells remove_all(std::size_t size_class) noexcept {
    return {std::exchange(top_[size_class], nullptr), std::exchange(next_[size_class], nullptr)};
  }

  /// Effects: calls `f(cell)` from the top down. Complexity: O(cells).
  template <class F>
  void for_each(std::size_t size_class, F f) const {
    linked_cells left{top_[size_class], next_[size_class]};
    while (void* const cell = left.pop()) {
      mark_free(cell, sizeof(void*));
      f(cell);
    }
  }

  /// Effects: counts a sampled address pushed onto a list. Returns: whether the list is above its limit now.
  [[nodiscard]] bool count_freed(std::size_t size_class) noexcept {
    const std::uint32_t most = detail::min<std::uint32_t>(listed_cells_of[size_class], max_cells_);
    const std::uint32_t bytes = bytes_of_[size_class] += sampled_bytes_of[size_class];
    add(sampled_bytes_of[size_class]);
    return ASHLAR_UNLIKELY(bytes > most * size_classes::bytes_of(size_class));
  }

  /// Effects: counts a sampled address popped from a list.
  void count_taken(std::size_t size_class) noexcept {
    const std::uint32_t gone = detail::min(bytes_of_[size_class], sampled_bytes_of[size_class]);
    bytes_of_[size_class] -= gone;
    add(std::size_t{0} - gone);
  }

  /// Effects: counts that a list has been emptied.
  void count_swept(std::size_t size_class) noexcept { add(std::size_t{0} - std::exchange(bytes_of_[size_class], 0)); }

  /// Returns: whether there is room for a free span of `length` slices.
  [[nodiscard]] bool has_room_for(std::size_t length) const noexcept { return spans_.slices() + length <= most_slices; }
  /// Effects: adds a span that becomes free. Expects: there is room for it.
  void push_span(span_header& span) noexcept {
    mark_free(span.cells, span.length * slice_bytes);
    spans_.put(span);
  }
  /// Returns: a span of `length` slices, at most a half longer, removed, or null.
  [[nodiscard]] ASHLAR_INLINE std::byte* pop_span(std::size_t length) noexcept {
    const span_header* const span = spans_.take(length, length / 2);
    if (ASHLAR_UNLIKELY(span == nullptr)) return nullptr;
    mark_live(span->cells, span->length * slice_bytes);
    ASHLAR_ASSUME(span->cells != nullptr);
    return span->cells;
  }
  /// Effects: removes all spans, with a call of `f(span)` for each.
  template <class F>
  void sweep_spans(F f) noexcept {
    spans_.clear(f);
  }
  [[nodiscard]] bool has_spans() const noexcept { return spans_.slices() != 0; }
  /// Effects: calls `f(span)` for each span.
  template <class F>
  void for_each_span(F f) const noexcept {
    spans_.for_each(f);
  }
  /// Returns: bytes of spans removed by `pop_span`. Thread safety: any thread.
  [[nodiscard]] std::uint64_t reused_span_bytes() const noexcept { return spans_.taken_slices() * slice_bytes; }

  /// Returns: bytes in the lists, by their sampled addresses, and in spans. Thread safety: any thread.
  [[nodiscard]] std::size_t bytes() const noexcept { return cell_bytes() + spans_.slices() * slice_bytes; }

  /// Effects: lists the next cells of a batch, at most `cells_at_once - 1`, the first one on top. Stops before a
  /// sampled address, which must be counted, and at the end of the page of `taken`, the last cell taken: a link makes
  /// the page of its cell resident. Expects: the list is empty.
  void refill(std::size_t size_class, cell_batch& batch, std::size_t cell_bytes, const void* taken) noexcept {
    constexpr std::size_t most = cells_at_once - 1;
    const std::uintptr_t last_of_page = address_of(taken) | 0xfff;
    std::array<void*, most> listed;  // from the top
    std::size_t cells = 0;
    std::uint64_t left = batch.all_but_first();
    for (; cells != most && left != 0; left = without_first(left)) {
      void* const cell = batch.base + first_bit(left) * cell_bytes;
      if (address_of(cell) > last_of_page || is_sampled(cell)) break;
      listed[cells++] = cell;
    }
    batch.mask = left | (batch.mask & 1);
    void *top = nullptr, *next = nullptr;
    while (cells != 0) {
      void* const cell = listed[--cells];
      link(cell, std::exchange(next, top));
      top = cell;
    }
    top_[size_class] = top;
    next_[size_class] = next;
  }

  /// Effects: forgets all cells and spans.
  void clear() noexcept {
    top_ = next_ = {};
    bytes_of_ = {};
    spans_.forget();
    cell_bytes_.store(0, memory_order_relaxed);
  }

private:
  static constexpr std::size_t most_slices = (std::size_t{8} << 20) / slice_bytes;  // of spans

  static ASHLAR_INLINE void link(void* cell, void* below) noexcept {
    mark_readable(cell, link_bytes);
    *static_cast<void**>(cell) = below;
    if constexpr (seals_links) static_cast<std::uintptr_t*>(cell)[1] = seal(cell, address_of(below));
    mark_free(cell, link_bytes);
  }

  // The seal depends on the address, so that a link copied from another cell is invalid.
  [[nodiscard]] static ASHLAR_INLINE std::uintptr_t seal(const void* cell, std::uintptr_t link) noexcept {
    return ~(link ^ address_of(cell));
  }

  // Only the owner writes; once it has left, the holder of its lock.
  void add(std::size_t more) noexcept { cell_bytes_.store(cell_bytes() + more, memory_order_relaxed); }
  [[nodiscard]] std::size_t cell_bytes() const noexcept { return cell_bytes_.load(memory_order_relaxed); }

  std::array<void*, size_classes::count + 1> top_ = {};
  std::array<void*, size_classes::count + 1> next_ = {};
  std::array<std::uint32_t, size_classes::count + 1> bytes_of_ = {};  // of each list, by its sampled addresses
  std::uint32_t max_cells_;                                           // of each list
  atomic<std::size_t> cell_bytes_ = 0;                                // spans are counted in slices
  span_bins<span_header> spans_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
