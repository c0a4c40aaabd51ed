// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of a heap's segments: the slices of each, and a bound of its longest free run.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// An array of plain values that starts inside its owner and doubles in memory of an upstream. The first `Inline`
/// values need no allocation. Values beyond the written ones are zero bytes. The owner passes the upstream, always the
/// same one, and gives the memory back. Thread safety: none.
template <class T, std::size_t Inline>
class grown_array {
  static_assert(std::is_trivially_copyable_v<T> && is_power_of_two(Inline));

public:
  grown_array() = default;
  grown_array(const grown_array&) = delete;  // it may point into itself
  grown_array& operator=(const grown_array&) = delete;

  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t upstream_bytes() const noexcept { return data_ != inside_ ? capacity_ * sizeof(T) : 0; }

  /// Returns: the bytes that `grow` takes from the upstream, before it gives the former ones back.
  [[nodiscard]] std::size_t doubled_bytes() const noexcept { return 2 * capacity_ * sizeof(T); }

  /// Effects: doubles the capacity; all values stay. Returns: false, without an effect, when memory has run out.
  template <resource R>
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE bool grow(R& upstream) noexcept {
    const std::size_t half = capacity_ * sizeof(T), doubled = 2 * capacity_;
    void* const wide = try_allocate_from(upstream, doubled_bytes(), alignof(T));
    if (wide == nullptr) return false;
    std::memcpy(wide, data_, half);
    std::memset(static_cast<std::byte*>(wide) + half, 0, half);
    give_back(upstream);
    data_ = static_cast<T*>(wide);
    capacity_ = doubled;
    return true;
  }

  /// Effects: gives the memory back; the array is as newly made.
  template <resource R>
  void give_back(R& upstream) noexcept {
    if (data_ != inside_) upstream.deallocate(data_, capacity_ * sizeof(T), alignof(T));
    data_ = inside_;
    capacity_ = Inline;
  }

private:
  T inside_[Inline] = {};
  T* data_ = inside_;
  std::size_t capacity_ = Inline;
};

/// The first segment of a heap: it begins short and becomes longer in place. A heap with few blocks, such as the heap
/// of a thread of many, takes little: of memory, and of what the system counts without a touch, which is address space,
/// data, locked memory, and memory it has promised.
///
///     | head | slab | slab | …  not mapped     |        a step adds a quarter, beyond a half all slices
///
/// Of upstreams whose memory does not grow in place there is none. Thread safety: none.
template <resource Upstream, class Guards>
class growing_segment {
public:
  static constexpr bool is_possible = page_discard<Upstream>::lengthens;

  /// Returns: the bytes to ask for, for a segment of at least `least` bytes.
  [[nodiscard]] static constexpr std::size_t wish(std::size_t least, bool is_first) noexcept {
    return is_possible && is_first ? whole_beyond_half(detail::max(first_slices, least / slice_bytes)) * slice_bytes
                                   : segment_bytes;
  }

  /// Effects: follows a segment, the first of its heap.
  void begin(segment& home) noexcept {
    if (is_possible && home.head.bytes != segment_bytes) home_ = &home;
  }
  /// Effects: forgets the segment if it is this one.
  void end(const segment& home) noexcept {
    if (home_ == &home) home_ = nullptr;
  }
  void clear() noexcept { home_ = nullptr; }

  /// Returns: the segment, or null.
  [[nodiscard]] segment* get() const noexcept { return is_possible ? home_ : nullptr; }

  /// Returns: the slices that it needs for a span of `length` slices behind those in use. Expects: there is one.
  template <class Slices>
  [[nodiscard]] std::size_t needed(const Slices& in, std::size_t length, std::size_t step) const noexcept {
    const std::size_t held = home_->slices_held();
    return align_up(held - run_until(in.free, held), step) + length;
  }

  /// Effects: makes the segment of `in` at least `wanted` slices long. Returns: the former number of slices; 0, without
  /// an effect, if it is not this one, or memory of its upstream does not grow there.
  template <class Extents, class Slices>
  [[nodiscard]] ASHLAR_COLD std::size_t lengthen(Extents& space, Slices& in, std::size_t wanted) noexcept {
    segment& home = *in.home;
    const std::size_t were = home.slices_held();
    if (&home != get() || wanted <= were || wanted > slices_per_segment) return 0;
    if (!try_lengthen(space, whole_beyond_half(detail::max(wanted, were + were / 4))) && !try_lengthen(space, wanted))
      return clear(), 0;
    in.lengthen(were, page_discard<Upstream>::gives_zeroes);
    mark_free(home.slice(were), (home.slices_held() - were) * slice_bytes);
    Guards::lengthen(home, were);
    if (home.slices_held() == slices_per_segment) clear();
    return were;
  }

private:
  // With guards spans are placed by chance, in more of them.
  static constexpr std::size_t first_slices = Guards::are_kept ? 24 : first_slice + 3;

  [[nodiscard]] static constexpr std::size_t whole_beyond_half(std::size_t slices) noexcept {
    return slices > slices_per_segment / 2 ? slices_per_segment : slices;
  }

  template <class Extents>
  [[nodiscard]] bool try_lengthen(Extents& space, std::size_t slices) noexcept {
    if (!Guards::open_head(*home_, slices) || !space.resize(home_, slices * slice_bytes)) return false;
    home_->head.bytes = slices * slice_bytes;
    return true;
  }

  segment* home_ = nullptr;
};

/// The slices of one segment by their state: taken, free and used before, free and fresh. Invariant: `dropped` is part
/// of `fresh`, `fresh` of `free`, and `free` of the slices behind the head. The mask of fresh slices stands in the head
/// while the segment goes from one owner to the next. Thread safety: none.
struct segment_slices {
  segment* home;
  slice_mask free;
  slice_mask fresh;        ///< of the free ones: unused since they came from the system, all zero
  slice_mask dropped = 0;  ///< of the fresh ones: decommitted after use
  slice_mask started = 0;  ///< starts of former spans: their first pages are resident

  /// Returns: the slices behind the head of a segment of `bytes` bytes.
  [[nodiscard]] static constexpr slice_mask all_of(std::size_t bytes) noexcept {
    return ones(first_slice, bytes / slice_bytes - first_slice);
  }

  /// Returns: free slices that have been used: their pages may be resident.
  [[nodiscard]] slice_mask used() const noexcept { return free & ~fresh; }
  [[nodiscard]] ASHLAR_INLINE_FOR_SPEED std::size_t dirty() const noexcept { return count_bits(used()); }
  [[nodiscard]] bool is_unused() const noexcept { return free == all_of(home->head.bytes); }

  /// Returns: as `used()`, of the second huge page, if all of it is free. The first one has the head.
  [[nodiscard]] slice_mask idle_unit() const noexcept {
    const slice_mask unit = ones(slices_per_unit, slices_per_unit);
    return (unit & ~free) == 0 ? unit & used() : 0;
  }

  /// The live bytes of each huge page.
  struct live_bytes {
    std::uint32_t of[2];
    [[nodiscard]] std::uint32_t sum() const noexcept { return of[0] + of[1]; }
  };
  /// Complexity: O(spans).
  [[nodiscard]] live_bytes live() const {
    live_bytes bytes = {};
    for_each_span([&](segment& in, std::size_t first, std::size_t length) {
      const span_header& span = in.record(first);
      const bool is_block = span.size_class == size_classes::none;
      bytes.of[first / slices_per_unit] +=
          is_block ? static_cast<std::uint32_t>(length * slice_bytes) : (span.capacity - span.free) * span.cell_bytes;
    });
    return bytes;
  }

  /// Returns: of possible starts the lowest at which a span has started before, or else the lowest.
  [[nodiscard]] std::size_t first_of(slice_mask starts) const noexcept {
    return first_bit((starts & started) != 0 ? starts & started : starts);
  }

  /// Effects: takes free slices as one span.
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
  /// or give spans.
  void for_each_span(function_ref<segment&, std::size_t, std::size_t> f) const {
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
/// cached segment has a head already, and one of an ended heap.
template <class Pages>
[[nodiscard]] slice_mask fresh_slices_of(void* memory, slice_mask all) noexcept {
  if constexpr (!Pages::gives_zeroes) return 0;
  const bool may_have_head = Pages::is_shared || Pages::has_store;
  return may_have_head && segment::of(memory)->head.bytes != 0 ? segment::of(memory)->head.fresh : all;
}

/// Returns: of the first eight of `longest`, upper bounds of the longest runs of free slices in segments, the ones of
/// at least `length`: the highest bit of a byte for each.
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

/// A segment's head has its index here: the last one takes the index of one that leaves. Thread safety: none.
template <class Slices>
class segment_table {
public:
  /// Effects: calls `f(segment&, free slices, fresh slices among them)` for each segment.
  template <class F>
  ASHLAR_INLINE void for_each_segment(F f) const {
    for (std::size_t i = 0; i < count_; ++i) f(*spaces_[i].home, spaces_[i].free, spaces_[i].fresh);
  }

  /// Effects: as `segment_slices::for_each_span`, by segments.
  void for_each_span(function_ref<segment&, std::size_t, std::size_t> f) const {
    for (std::size_t i = 0; i < count_; ++i) spaces_[i].for_each_span(f);
  }
  /// As above, for one segment. Expects: `i < segments()`.
  void for_each_span_of(std::size_t i, function_ref<segment&, std::size_t, std::size_t> f) const {
    spaces_[i].for_each_span(f);
  }

  [[nodiscard]] std::size_t segments() const noexcept { return count_; }
  /// Returns: bytes of the tables that are of the upstream.
  [[nodiscard]] std::size_t table_bytes() const noexcept {
    return spaces_.upstream_bytes() + longest_.upstream_bytes();
  }

protected:
  /// Effects: makes room for one more segment. Returns: whether there is room.
  template <class Extents>
  [[nodiscard]] bool make_room(Extents& space) noexcept {
    return (count_ != spaces_.capacity() || space.grow(spaces_)) &&
           (count_ != longest_.capacity() || space.grow(longest_));
  }

  /// Effects: removes segment `i`.
  void remove(std::size_t i) noexcept {
    spaces_[i] = spaces_[--count_];
    longest_[i] = longest_[count_];
    if (i != count_) spaces_[i].home->head.index = i;
  }

  /// Effects: sorts the segments by their live bytes, the most first. A comb sort, for its size.
  ASHLAR_COLD void sort() noexcept {
    for (std::size_t i = 0; i < count_; ++i) spaces_[i].home->head.live_bytes = spaces_[i].live().sum();
    bool has_swapped = true;
    for (std::size_t gap = count_; gap > 1 || has_swapped;) {
      gap = detail::max<std::size_t>(1, gap * 3 / 4);
      has_swapped = false;
      for (std::size_t i = gap; i < count_; ++i)
        if (spaces_[i - gap].home->head.live_bytes < spaces_[i].home->head.live_bytes)
          spaces_[i] = std::exchange(spaces_[i - gap], spaces_[i]), has_swapped = true;
    }
    for (std::size_t i = 0; i < count_; ++i) spaces_[i].home->head.index = i, longest_[i] = most_slices;
  }

  /// Effects: forgets all segments and gives the tables back.
  template <class Upstream>
  void give_tables(Upstream& upstream) noexcept {
    spaces_.give_back(upstream);
    longest_.give_back(upstream);
    count_ = 0;
  }

  grown_array<Slices, 4> spaces_;
  grown_array<std::uint8_t, 16> longest_;  // upper bounds of the longest runs of free slices
  std::size_t count_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
