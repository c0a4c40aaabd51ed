// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guards of segments at level hardened: slices are inaccessible unless they are in use, and so is the last page of
// each span.
#pragma once

#include <cstddef>
#include <cstring>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/cell_layout.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/window_table.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Segments whose free slices are inaccessible and zero:
///
///     | head |g| slab        |g| free, a slab before | run of two slices           |g| never used … |
///             ^ the rest of the head's pages           `- accessible                 `- inaccessible
///
/// A span is opened without its last page and closed as a whole. So the pages in front of and behind each span are
/// inaccessible, beside any neighbours. Each span costs the system two mappings, of 65,530 by default: segments
/// beyond `most_segments` in the process have no guards. Thread safety: none, for one segment.
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
      guarded_windows<are_kept>.enter(&home);
      const bool closes = guarded_.fetch_add(1, memory_order_relaxed) < most_segments && protect_all(home, false);
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
      guarded_windows<are_kept>.leave(&home);
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
  static constexpr std::size_t most_segments = 400;

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

  static inline constinit atomic<std::size_t> guarded_ = 0;  // segments
};

}  // namespace ashlar::ASHLAR_ABI::detail
