// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The requested size of each block of a heap at level hardened, and the guards that depend on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Up to this size, in bytes, a call of `memset` or `memcmp` costs more than the words themselves.
inline constexpr std::size_t most_by_words = 256;
inline constexpr std::size_t most_class_by_words = size_classes::of(most_by_words);

/// The bytes of a granule: the unit of all cells.
struct granule_words {
  static constexpr std::size_t bytes = size_classes::granule;

  [[nodiscard]] static ASHLAR_INLINE granule_words at(const void* p) noexcept {
    granule_words read;
    std::memcpy(&read, p, bytes);
    return read;
  }

  /// Returns: the bits of both words.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t any() const noexcept { return low | high; }

  std::uint64_t low, high;
};
static_assert(sizeof(granule_words) == granule_words::bytes);

/// Effects: calls `f(offset)` for each granule, for some of the first four more than once: sizes up to four granules
/// take the same instructions, as processors do not foresee sizes. Expects: `bytes` is a positive multiple of a
/// granule.
template <class F>
ASHLAR_INLINE void for_each_granule(std::size_t bytes, F f) noexcept {
  constexpr std::size_t step = granule_words::bytes;
  const std::size_t last = bytes - step;
  f(std::size_t{0});
  f(detail::min(step, last));
  f(detail::min(2 * step, last));
  f(last);
  for (std::size_t at = 3 * step; ASHLAR_UNLIKELY(at < last); at += step) {
    f(at);
    ASHLAR_IN_REGISTER(at);  // otherwise compilers make a call of `memset` of the loop
  }
}

/// Returns: whether all bytes are zero. Expects: `bytes` is a positive multiple of a granule.
[[nodiscard]] ASHLAR_INLINE bool are_words_zero(const void* p, std::size_t bytes) noexcept {
  const auto* const cell = static_cast<const std::byte*>(p);
  std::uint64_t any = 0;
  detail::for_each_granule(bytes, [&](std::size_t at) { any |= granule_words::at(cell + at).any(); });
  return any == 0;
}

/// As above, for any number of granules. Complexity: O(bytes).
[[nodiscard]] ASHLAR_INLINE bool is_zero(const void* p, std::size_t bytes) noexcept {
  return ASHLAR_LIKELY(bytes <= most_by_words) ? are_words_zero(p, bytes) : is_filled(p, bytes, 0);
}

/// Effects: clears free memory. Expects: as `are_words_zero`.
ASHLAR_INLINE void clear_words(void* p, std::size_t bytes) noexcept {
  mark_readable(p, bytes);
  constexpr granule_words zero = {};
  auto* const cell = static_cast<std::byte*>(p);
  detail::for_each_granule(bytes, [&](std::size_t at) { std::memcpy(cell + at, &zero, granule_words::bytes); });
}

/// As above, for any number of granules. Complexity: O(bytes).
ASHLAR_INLINE void clear_free(void* p, std::size_t bytes) noexcept {
  ASHLAR_LIKELY(bytes <= most_by_words) ? clear_words(p, bytes) : fill_free(p, bytes, 0);
}

/// All bits of the canary's bytes in a last granule with `n` bytes of canary: the 16 bytes from byte `n` on.
alignas(32) inline constexpr auto canary_mask = [] {
  std::array<unsigned char, 2 * granule_words::bytes> made{};
  for (std::size_t i = granule_words::bytes; i < made.size(); ++i) made[i] = 0xFF;
  return made;
}();

/// Returns: the canary of a granule.
[[nodiscard]] ASHLAR_INLINE granule_words canary_of_granule(const void* at) noexcept {
  return {canary_secret::word(address_of(at)), canary_secret::word(address_of(at) + sizeof(std::uint64_t))};
}

/// Returns: whether the canary of a request is in the last granule of its cell of `held` bytes: up to `most_by_words`
/// it is, unless the request was for another alignment.
[[nodiscard]] ASHLAR_INLINE bool has_canary_in_granule(std::size_t bytes, std::size_t held) noexcept {
  return ASHLAR_LIKELY(held - bytes <= granule_words::bytes);
}

/// Effects: writes the canary after the first `bytes` bytes of a cell of `held` bytes. Expects: the cell is zero,
/// `has_canary_in_granule`.
ASHLAR_INLINE void write_last_granule(void* cell, std::size_t bytes, std::size_t held) noexcept {
  mark_readable(cell, held);
  std::byte* const at = static_cast<std::byte*>(cell) + held - granule_words::bytes;
  const granule_words mask = granule_words::at(&canary_mask[held - bytes]), canary = canary_of_granule(at);
  const granule_words last = {canary.low & mask.low, canary.high & mask.high};
  std::memcpy(at, &last, granule_words::bytes);
}

/// Returns: whether the canary after the first `bytes` bytes of a cell is intact. Expects: `has_canary_in_granule`.
[[nodiscard]] ASHLAR_INLINE bool is_last_granule_whole(const void* cell, std::size_t bytes, std::size_t held) noexcept {
  const std::size_t slack = held - bytes;
  mark_readable(static_cast<const std::byte*>(cell) + bytes, slack);
  const std::byte* const at = static_cast<const std::byte*>(cell) + held - granule_words::bytes;
  const granule_words last = granule_words::at(at), whole = canary_of_granule(at);
  const granule_words mask = granule_words::at(&canary_mask[slack]);
  const bool is_intact = (((last.low ^ whole.low) & mask.low) | ((last.high ^ whole.high) & mask.high)) == 0;
  mark_free(static_cast<const std::byte*>(cell) + bytes, slack);
  return is_intact;
}

/// With what its checks need of the slab, looked up once for all of them.
struct placed_cell : sized_cell {
  ASHLAR_INLINE explicit placed_cell(void* cell) noexcept {
    segment* const home = segment::of(cell);
    const std::size_t first = home->record(segment::slice_of(cell)).first;
    slab = &home->record(first);
    index = slab->index_of(cell);
    data = static_cast<std::byte*>(cell);
    bytes = slab->cell_bytes;
    size = home->requested->of_slice(first) + index;
  }

  span_header* slab;
  std::uint32_t index;
};

[[nodiscard]] inline std::size_t size_of_cell(void* cell) noexcept {
  return placed_cell(cell).size->load(memory_order_relaxed);
}

/// Returns: the size class of a live block, or none.
[[nodiscard]] inline std::size_t class_of_block(void* p) noexcept {
  return is_aligned(p, window_bytes) ? size_classes::none : segment::size_class_of(p);
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
  const placed_cell at(cell);
  at.begin_change();
  if constexpr (keeps_canaries) fill_free(cell, at.bytes, dead_byte<Upstream>);
  at.end_change(keeps_canaries ? dead_cell : never_used);
}

/// Effects: reports a write to a free cell among the cells `first` to `last` of a slab, `last` excluded; marks them as
/// never used. Expects: level hardened.
template <class Upstream>
void verify_poison_of_cells(span_header& slab, std::size_t first, std::size_t last, const void* heap) noexcept {
  atomic<std::uint16_t>* const sizes = detail::sizes_in(slab);
  for (std::size_t i = first; i < last; ++i) {
    if (sizes[i].load(memory_order_relaxed) != dead_cell) continue;
    verify_free(slab.cell(i), slab.cell_bytes, dead_byte<Upstream>, heap);
    sizes[i].store(never_used, memory_order_relaxed);
  }
}

/// Effects: poisons the byte before the first cell of a new slab, if it has one. Expects: level hardened.
inline void poison_front(const span_header& slab) noexcept {
  if (!is_aligned(slab.cells, slice_bytes)) poison_block(slab.cells - 1, 1);
}

/// Effects: poisons a freed block of slices. Expects: level hardened.
inline void poison_span(span_header& span) noexcept {
  const std::size_t length = detail::min<std::size_t>(span.length, most_poisoned_of_span / slice_bytes);
  poison_block(span.cells, length * slice_bytes);
  span.cell_bytes = static_cast<std::uint32_t>(span.length * slice_bytes);  // there is no canary in it
  segment::of(&span)->requested->poisoned_slices |= ones(span.first, length);
}

/// Effects: reports a write to a free block that starts in a poisoned slice of `which`; marks these slices as never
/// used. Expects: level hardened.
inline void verify_poison_of_spans(segment& home, slice_mask which, const void* heap) noexcept {
  slice_mask& poisoned = home.requested->poisoned_slices;
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
    if (is_aligned(p, window_bytes)) return *space.find(p)->requested;
    if (segment::size_class_of(p) != size_classes::none) return detail::size_of_cell(p);
    return segment::of(p)->record(segment::slice_of(p)).cell_bytes;
  }
  [[nodiscard]] std::size_t of(void* p) const noexcept { return of(space_, p); }

  /// Effects: reports writes past the end of a block of `held` bytes; with `neighbours` also those in front of a cell,
  /// and to the free cells beside it, which the owner may be handing out without a lock.
  static void expect_intact(const extent_map<Upstream>& space, void* p, std::size_t held, const void* heap,
                            bool neighbours = true) noexcept {
    if constexpr (keeps_canaries) {
      const std::size_t bytes = of(space, p);
      expect_canary(p, bytes, end_of_canary(p, bytes, held), heap);
      if (!neighbours || !is_cell(p)) return;
      const placed_cell at(p);
      if (!is_front_whole(at)) report_write_before(p, bytes, heap);
      if (is_zero_when_dead && !is_back_zero(at)) report_write_behind(p, bytes, bytes, end_of_writes(at), heap);
    }
  }

  /// Effects: poisons a live cell of `bytes` bytes, or of any size for `any_size`, with intact guards. Returns: whether
  /// it was one; if not, nothing changes, and false is a hint only. Thread safety: the owner of the slab; other threads
  /// may free the cells beside it.
  [[nodiscard]] static ASHLAR_INLINE bool poison_intact_cell(void* cell, std::size_t bytes) noexcept {
    const placed_cell at(cell);
    const std::size_t size = at.size->load(memory_order_relaxed);
    if (bytes != any_size && size != at_least_one_byte(bytes)) return false;
    if constexpr (keeps_canaries) {
      if (!is_canary_whole(cell, size, at.bytes) || !is_front_whole(at)) return false;
      if (is_zero_when_dead && !is_back_zero(at)) return false;
      at.begin_change();
      if constexpr (is_zero_when_dead) clear_free(cell, at.bytes);
      else poison_block(cell, at.bytes);
    }
    at.end_change(keeps_canaries ? dead_cell : never_used);
    return true;
  }

  /// As above, without a call, but false also for larger cells, the last two of a slab, and some for aligned requests.
  /// Expects: it is not at a sampled address; free cells are zero.
  [[nodiscard]] static ASHLAR_INLINE bool poison_intact_small(void* cell, std::size_t bytes) noexcept {
    const placed_cell at(cell);
    const std::size_t size = at.size->load(memory_order_relaxed);
    if (ASHLAR_UNLIKELY(at.bytes > most_by_words || !has_canary_in_granule(size, at.bytes))) return false;
    if (bytes != any_size && size != at_least_one_byte(bytes)) return false;          // freed by another size
    if (ASHLAR_UNLIKELY(!is_last_granule_whole(cell, size, at.bytes))) return false;  // writes behind the block
    if (ASHLAR_UNLIKELY(at.index + 2 >= at.slab->capacity || !are_neighbours_whole(at))) return false;  // beside it
    at.begin_change();
    clear_words(cell, at.bytes);  // so later reads find nothing, and later writes are found
    at.end_change(dead_cell);
    return true;
  }
  static constexpr std::size_t any_size = max_size;

  /// Effects: hands a free cell out. Reports a write to it since its free. Thread safety: as above.
  ASHLAR_INLINE void hand_out_cell(void* cell, std::size_t bytes) noexcept {
    const placed_cell at(cell);
    is_zero_when_dead ? hand_out_zero(at, bytes) : hand_out_poisoned(at, bytes);
  }
  /// As above. Expects: free cells are zero. It is zero whether it was in use before or not.
  ASHLAR_INLINE void hand_out_zero(const sized_cell& at, std::size_t bytes) const noexcept {
    const std::size_t kept = at_least_one_byte(bytes);
    mark_readable(at.data, at.bytes);
    if (ASHLAR_UNLIKELY(!is_zero(at.data, at.bytes))) report_poison(at.data, at.bytes, heap_);
    at.begin_change();
    write_canary(at.data, kept, at.bytes);
    at.end_change(kept);
    mark_block(at.data, 0, kept, at.bytes);
  }
  /// As above, without a call. Expects: a cell of up to `most_by_words` bytes, `has_canary_in_granule`.
  ASHLAR_INLINE void hand_out_small(const sized_cell& at, std::size_t bytes) const noexcept {
    const std::size_t kept = at_least_one_byte(bytes);
    mark_readable(at.data, at.bytes);
    if (ASHLAR_UNLIKELY(!are_words_zero(at.data, at.bytes))) report_poison(at.data, at.bytes, heap_);  // since its free
    at.begin_change();
    write_last_granule(at.data, kept, at.bytes);
    at.end_change(kept);
    mark_block(at.data, 0, kept, at.bytes);
  }

  /// Effects: hands slices or pages out.
  void hand_out_large(void* p, std::size_t bytes) noexcept { keep(p, at_least_one_byte(bytes), 0); }

  /// Effects: sets the size of a block to `bytes`; its first `were` bytes have contents.
  void resize(void* p, std::size_t were, std::size_t bytes) noexcept {
    if (is_aligned(p, window_bytes) || segment::size_class_of(p) == size_classes::none)
      return keep(p, at_least_one_byte(bytes), were);
    const placed_cell at(p);
    guard(p, at_least_one_byte(bytes), at.bytes, were);
    at.end_change(at_least_one_byte(bytes));
  }

private:
  static constexpr bool is_zero_when_dead = dead_cells_are_zero<Upstream>;

  // A longer canary would touch pages that the caller does not use.
  static constexpr std::size_t most_behind_others = 256;
  // Bytes of free cells beside a cell that are looked at.
  static constexpr std::size_t most_around = 32;

  void hand_out_poisoned(const placed_cell& at, std::size_t bytes) const noexcept {
    const std::size_t kept = at_least_one_byte(bytes);
    const bool was_used = at.size->load(memory_order_relaxed) == dead_cell;
    if (ASHLAR_LIKELY(was_used)) verify_free(at.data, at.bytes, dead_byte<Upstream>, heap_);
    at.begin_change();
    write_canary(at.data, kept, at.bytes);
    at.end_change(kept);
    if constexpr (keeps_canaries) watch_front(at);
    mark_block(at.data, 0, kept, at.bytes);
  }

  void keep(void* p, std::size_t bytes, std::size_t were) noexcept {
    if (is_aligned(p, window_bytes)) {
      space_.keep_requested(p, bytes);
      return guard(p, bytes, space_.find(p)->bytes(), were);
    }
    span_header& span = segment::of(p)->record(segment::slice_of(p));
    span.cell_bytes = static_cast<std::uint32_t>(bytes);
    guard(p, bytes, usable_bytes<Upstream>(span.length), were);
  }

  [[nodiscard]] static bool is_cell(void* p) noexcept { return class_of_block(p) != size_classes::none; }

  [[nodiscard]] static std::size_t end_of_canary(void* p, std::size_t bytes, std::size_t held) noexcept {
    return is_cell(p) ? held : detail::min(held, bytes + most_behind_others);
  }

  // The byte before a cell is the canary of a live cell, or the poison of a free cell or of the slab's front. A cell
  // that was never used is poisoned like a free one, so that the byte exists.
  ASHLAR_INLINE static void watch_front(const placed_cell& at) noexcept {
    if (ASHLAR_UNLIKELY(mark_before(at) == never_used)) poison_cell<Upstream>(at.data - at.bytes);
  }

  // The byte before a first cell at the start of a slice belongs to another span.
  [[nodiscard]] ASHLAR_INLINE static bool has_front(const placed_cell& at) noexcept {
    return !is_aligned(at.data, slice_bytes) || at.slab->cells != at.data;
  }

  [[nodiscard]] ASHLAR_INLINE static bool is_front_whole(const placed_cell& at) noexcept {
    return is_zero_when_dead ? is_front_zero(at) : is_front_intact(at);
  }

  // As `is_front_zero`, for the free cells behind a cell.
  [[nodiscard]] ASHLAR_INLINE static bool is_back_zero(const placed_cell& at) noexcept {
    const std::byte* from = at.data;
    std::size_t left = most_around;
    for (std::uint32_t i = 1; at.index + i < at.slab->capacity; ++i) {
      if (!is_free_mark(at.size[i].load(memory_order_acquire))) return true;  // with end_change()
      from += at.bytes;
      const std::size_t looked_at = detail::min(left, at.bytes);
      if (!are_words_zero(from, looked_at)) return false;
      left -= looked_at;
      if (left == 0) return true;
    }
    return true;
  }

  // Returns: the distance from the cell to the end of the writes to the free cells behind it.
  [[nodiscard]] ASHLAR_COLD static std::size_t end_of_writes(const placed_cell& at) noexcept {
    std::size_t end = at.bytes;
    for (std::size_t i = at.bytes; i < at.bytes + most_around; ++i) {
      const std::size_t next = i / at.bytes;
      if (at.index + next >= at.slab->capacity || !is_free_mark(at.size[next].load(memory_order_acquire))) break;
      if (at.data[i] != std::byte{0}) end = i + 1;
    }
    return end;
  }

  // Whether the bytes in front of a cell are zero, as far as they belong to no live cell, and the canary of a live one.
  // Another thread that frees the cell before may clear it meanwhile: then the result is a hint.
  [[nodiscard]] ASHLAR_INLINE static bool is_front_zero(const placed_cell& at) noexcept {
    const std::byte* end = at.data;
    std::size_t left = most_around;
    for (const atomic<std::uint16_t>* size = at.size; size != at.size - at.index;) {
      const std::uint16_t before = (--size)->load(memory_order_acquire);  // with end_change()
      if (!is_free_mark(before)) return before == changing_cell || is_canary_before(end);
      const std::size_t looked_at = detail::min(left, at.bytes);
      end -= looked_at;
      if (!are_words_zero(end, looked_at)) return false;
      left -= looked_at;
      if (left == 0) return true;
    }
    const std::size_t room = detail::min(left, address_of(end) % slice_bytes);
    return room == 0 || are_words_zero(end - room, room);
  }

  // All ones for the mark of a free cell, else 0.
  [[nodiscard]] ASHLAR_INLINE static std::uint64_t mask_of_free(const atomic<std::uint16_t>& size) noexcept {
    return 0 - std::uint64_t{is_free_mark(size.load(memory_order_acquire))};  // with end_change()
  }

  // As `is_front_zero` and `is_back_zero` together, for a small cell that is not at a sampled address and not one of
  // the last two: 256 bytes of its slice lie in front of it, the sizes in front of the first one are 0. Without a
  // branch, since no processor foresees which cells at random places are free: all is read, and what does not count is
  // masked out.
  [[nodiscard]] ASHLAR_INLINE static bool are_neighbours_whole(const placed_cell& at) noexcept {
    constexpr std::size_t granule = granule_words::bytes;
    const std::size_t second = at.bytes == granule ? 2 : 1;  // the cell of the second granule
    const auto changed = [&](std::size_t before) {           // of the canary of a live cell
      const std::byte* const last = at.data - before - 1;
      return std::uint64_t{std::to_integer<unsigned char>(*last)} ^ canary_secret::byte(last);
    };
    const std::uint64_t front = mask_of_free(at.size[-1]), far_front = mask_of_free(*(at.size - second));
    const std::uint64_t back = mask_of_free(at.size[1]), far_back = mask_of_free(at.size[second]);
    const std::uint64_t at_front = granule_words::at(at.data - granule).any(),
                        at_far_front = granule_words::at(at.data - 2 * granule).any(),
                        at_back = granule_words::at(at.data + at.bytes).any(),
                        at_far_back = granule_words::at(at.data + at.bytes + granule).any();
    const std::uint64_t wrong = (at_front & front) | (changed(0) & ~front) |
                                (((at_far_front & far_front) | (changed(granule) & ~far_front)) & front) |
                                ((at_back | (at_far_back & far_back)) & back);
    return wrong == 0;
  }

  [[nodiscard]] ASHLAR_INLINE static bool is_front_intact(const placed_cell& at) noexcept {
    return !has_front(at) || is_guard_before(at.data, mark_before(at));
  }

  // The mark of the cell before, or of the poison before the first.
  [[nodiscard]] ASHLAR_INLINE static std::uint16_t mark_before(const placed_cell& at) noexcept {
    return at.index != 0 ? at.size[-1].load(memory_order_acquire) : dead_cell;  // with end_change()
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
