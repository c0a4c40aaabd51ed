// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guards of segments at level hardened: slices are inaccessible unless they are in use, and so is the last page of
// each span.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/os/pages.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Freed blocks of slices that wait, inaccessible, before their address space serves others. A queue of `Span` headers:
/// the first in is the first out, once there are more than `most_spans` or more than `most_slices` of address space.
/// They hold no memory. Thread safety: none.
template <class Span>
class span_quarantine {
public:
  static constexpr std::size_t most_spans = 64;
  static constexpr std::size_t most_slices = (std::size_t{16} << 20) / slice_bytes;

  /// Effects: adds a span; calls `f(span)` for each that leaves.
  template <class F>
  void put(Span& span, F f) noexcept {
    while (count_ != 0 && (count_ == most_spans || slices_ + span.length > most_slices)) f(take());
    spans_[(first_ + count_++) % most_spans] = &span;
    slices_ += span.length;
    span.is_available = true;  // a second free is reported
  }

  /// Effects: calls `f(span)` for each, which leaves.
  template <class F>
  void clear(F f) noexcept {
    while (count_ != 0) f(take());
  }

  /// Effects: calls `f(span)` for each.
  template <class F>
  void for_each(F f) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) f(*spans_[(first_ + i) % most_spans]);
  }

  /// Effects: forgets all spans.
  void forget() noexcept { first_ = count_ = slices_ = 0; }

  [[nodiscard]] std::size_t slices() const noexcept { return slices_; }

private:
  [[nodiscard]] Span& take() noexcept {
    Span& span = *spans_[first_];
    first_ = (first_ + 1) % most_spans;
    --count_;
    slices_ -= span.length;
    span.is_available = false;
    return span;
  }

  std::array<Span*, most_spans> spans_ = {};
  std::size_t first_ = 0, count_ = 0, slices_ = 0;
};

/// A bit for each window of the address space: one load tells whether a segment of a guarded heap is there. Windows by
/// address, up to 2^47 on 64 bits: 4 MiB of zero pages, of which those with a set bit become resident. Invariant: a set
/// bit is a window that was entered and has not left. Thread safety: any thread.
class window_table {
public:
  [[nodiscard]] ASHLAR_INLINE bool has(const void* p) const noexcept {
    const std::uintptr_t window = address_of(p) / window_bytes;
    return ASHLAR_LIKELY(window < windows) &&
           (words_[window / 64].load(memory_order_relaxed) >> (window % 64) & 1) != 0;
  }

  /// @{ Expects: the window is mapped meanwhile.
  void enter(const void* p) noexcept {
    const std::uintptr_t window = address_of(p) / window_bytes;
    if (window < windows) words_[window / 64].fetch_or(bit_in(window), memory_order_relaxed);
  }
  void leave(const void* p) noexcept {
    const std::uintptr_t window = address_of(p) / window_bytes;
    if (window < windows) words_[window / 64].fetch_and(~bit_in(window), memory_order_relaxed);
  }
  /// @}

private:
  static constexpr std::size_t windows = std::size_t{1} << (sizeof(void*) == 8 ? 25 : 10);

  [[nodiscard]] static std::uint64_t bit_in(std::uintptr_t window) noexcept {
    return std::uint64_t{1} << (window % 64);
  }

  std::array<atomic<std::uint64_t>, windows / 64> words_ = {};
};

/// The segments of all guarded heaps of the process, if there can be any.
template <bool AreKept>
inline constinit part_if<AreKept, window_table> guarded_windows;

/// Segments whose free slices are inaccessible and zero:
///
///     | head |g| slab        |g| free, a slab before | block of two slices          |g| never used … |
///             ^ the rest of the head's pages           `- accessible                 `- inaccessible
///
/// A span is opened without its last page and closed as a whole. So the pages in front of and behind each span are
/// inaccessible, beside any neighbours. Each span costs the system two mappings: segments beyond `most_segments` in the
/// process, which could take half of all, have no guards. Thread safety: none, for one segment.
template <class Upstream>
class span_guards {
  using pages = page_discard<Upstream>;

public:
  static constexpr bool are_kept = pages::has_guards;

  /// Returns: whether free slices of the segment are zero and inaccessible.
  [[nodiscard]] static bool has(const segment& home) noexcept { return are_kept && home.head.is_guarded; }

  /// Effects: closes the slices of a new segment, which copies look at from now on, or opens all of them.
  static void begin(segment& home) noexcept {
    if constexpr (are_kept) {
      guarded_windows<are_kept>->enter(&home);
      const bool closes = guarded_.fetch_add(1, memory_order_relaxed) < most_segments() && protect_all(home, false);
      home.head.is_guarded = closes || !protect_all(home, true);
      if (!home.head.is_guarded) guarded_.fetch_sub(1, memory_order_relaxed);
    }
  }

  /// Effects: opens the head for a segment of `slices` slices. Returns: whether it is open.
  [[nodiscard]] static bool open_head([[maybe_unused]] segment& home, [[maybe_unused]] std::size_t slices) noexcept {
    if constexpr (are_kept) return pages::protect(&home, segment::head_bytes(slices), true);
    else return true;
  }

  /// Effects: closes the slices from `first` on, which are new.
  static void lengthen(segment& home, std::size_t first) noexcept {
    if constexpr (are_kept) close(home, first, home.slices_held() - first);
  }

  /// Effects: opens all slices of a segment that goes back.
  static void end(segment& home) noexcept {
    if constexpr (are_kept) {
      guarded_windows<are_kept>->leave(&home);
      if (home.head.is_guarded) static_cast<void>(open_all(home));
    }
  }

  /// Effects: opens a span. Returns: false if the system refuses: it is closed. A segment with too many mappings loses
  /// its guards first.
  [[nodiscard]] static bool open(segment& home, std::size_t first, std::size_t length) noexcept {
    return open_bytes(home, home.slice(first), usable_bytes<Upstream>(length));
  }

  /// Effects: opens the page between two spans that become one.
  [[nodiscard]] static bool join(segment& home, std::size_t second) noexcept {
    return open_bytes(home, page_before(home, second), page);
  }

  /// Effects: closes a span without live cells, whose bytes are zero.
  static void close(segment& home, std::size_t first, std::size_t length) noexcept {
    if constexpr (are_kept)
      if (home.head.is_guarded) close_bytes(home, home.slice(first), length * slice_bytes);
  }

  /// Effects: drops the contents of a block and closes it.
  static void drop(segment& home, std::size_t first, std::size_t length) noexcept {
    if constexpr (are_kept) drop_bytes(home, home.slice(first), length * slice_bytes);
  }

  /// As above, for the tail of a block that ends before slice `end` now, with the last page that remains.
  static void drop_tail(segment& home, std::size_t end, std::size_t length) noexcept {
    if constexpr (are_kept) drop_bytes(home, page_before(home, end), page + length * slice_bytes);
  }

private:
  static constexpr std::size_t page = 4096;

  [[nodiscard]] static std::size_t most_segments() noexcept {
    std::size_t most = most_segments_.load(memory_order_relaxed);
    if (most == 0) {
      most = max_mappings() / 2 / (2 * slices_per_segment);
      most_segments_.store(most, memory_order_relaxed);
    }
    return most;
  }

  [[nodiscard]] static std::byte* page_before(segment& home, std::size_t slice) noexcept {
    return home.slice(slice) - page;
  }

  [[nodiscard]] static bool open_bytes([[maybe_unused]] segment& home, [[maybe_unused]] std::byte* p,
                                       [[maybe_unused]] std::size_t bytes) noexcept {
    if constexpr (are_kept) return !home.head.is_guarded || pages::protect(p, bytes, true) || open_all(home);
    else return true;
  }

  [[nodiscard]] static bool protect_all(segment& home, bool accessible) noexcept {
    const std::size_t head = segment::head_bytes(home.slices_held());
    return pages::protect(home.slice(0) + head, home.head.bytes - head, accessible);
  }

  [[nodiscard]] ASHLAR_COLD static bool open_all(segment& home) noexcept {
    if (!protect_all(home, true)) return false;
    home.head.is_guarded = false;
    guarded_.fetch_sub(1, memory_order_relaxed);
    return true;
  }

  // One mapping less at most: but if the system refuses, the segment has no guards from now on.
  static void close_bytes(segment& home, std::byte* p, std::size_t bytes) noexcept {
    if (!pages::protect(p, bytes, false)) static_cast<void>(open_all(home));
  }

  static void drop_bytes(segment& home, std::byte* p, std::size_t bytes) noexcept {
    if (!pages::discard(p, bytes)) clear(home, p, bytes);
    if (home.head.is_guarded) close_bytes(home, p, bytes);
  }

  // Locked pages stay. The last page of a guarded span is inaccessible.
  ASHLAR_COLD static void clear(const segment& home, std::byte* p, std::size_t bytes) noexcept {
    std::memset(p, 0, home.head.is_guarded ? bytes - page : bytes);
  }

  static inline constinit atomic<std::size_t> guarded_ = 0;        // segments
  static inline constinit atomic<std::size_t> most_segments_ = 0;  // 0: not asked yet
};

}  // namespace ashlar::ASHLAR_ABI::detail
