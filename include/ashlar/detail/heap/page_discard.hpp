// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a heap may know of the pages of its upstream: whether they come zeroed, can be dropped, moved, and given back.
#pragma once

#include <cerrno>
#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Nothing is known of an upstream, unless it is the pages of the system.
template <class Upstream>
struct page_discard {
  static constexpr bool gives_zeroes = false;  ///< what it hands out is all zero
  static constexpr bool is_possible = false;
  static constexpr bool can_move = false;
  static constexpr bool takes_back = true;  ///< what is given back may be handed out again, whichever it was
  static constexpr bool is_shared = false;  ///< it keeps a book of extents, and must hear of it where one is cut

  [[nodiscard]] static bool discard(void*, std::size_t) noexcept { return false; }
};

template <class Fresh, class Calls>
struct page_discard<basic_page_resource<Fresh, os::basic_pages<Calls>>> {
  using pages = os::basic_pages<Calls>;

  static constexpr bool gives_zeroes = true;
  static constexpr bool is_possible = true;
  static constexpr bool takes_back = true;
  static constexpr bool is_shared = false;
  static constexpr bool can_move = requires(void* p, std::size_t n) { pages::move(p, n, p, n); };

  /// Effects: gives the memory of whole pages back; they stay usable, and are zero at their next touch.
  /// Returns: false where the system refuses, as it does for locked pages.
  [[nodiscard]] static bool discard(void* p, std::size_t bytes) noexcept {
    const int saved = errno;
    const bool done = Calls::discard(p, bytes);
    errno = saved;
    return done;
  }

  /// Returns: a place that a block can be moved to, or null.
  [[nodiscard]] static void* reserve(std::size_t bytes, std::size_t alignment) noexcept {
    return pages::reserve(pages::round_up(bytes), alignment);
  }

  /// Effects: gives a place back that nothing was moved to.
  static void give_back(void* place, std::size_t bytes) noexcept { pages::release(place, pages::round_up(bytes)); }

  /// Returns: whether the block at `p` is at `place` now, grown to `new_bytes`: what was added is zero. Where it is
  /// not, it is as it was, and the place is lost.
  [[nodiscard]] static bool move(void* p, std::size_t bytes, void* place, std::size_t new_bytes) noexcept
    requires can_move
  {
    return basic_page_resource<Fresh, pages>::move(p, bytes, place, new_bytes);
  }
};

/// What is not its last block is lost when it is given back.
template <>
struct page_discard<buffer_resource> : page_discard<void> {
  static constexpr bool takes_back = false;
};

template <class Upstream>
struct page_discard<resource_ref<Upstream>> : page_discard<Upstream> {};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
