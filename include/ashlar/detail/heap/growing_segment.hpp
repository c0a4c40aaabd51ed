// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The first segment of a heap: it begins short and becomes longer in place.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bitmap.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A heap with few blocks, such as the heap of a thread of many, takes little: of memory, and of what the system counts
/// without a touch, which is address space, data, locked memory, and memory it has promised.
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

  /// Returns: the slices that it needs for a run of `length` slices behind those in use. Expects: there is one.
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

}  // namespace ashlar::ASHLAR_ABI::detail
