// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pages of the heap of the process: extents lie in its address range.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/address_range.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Whether extents can be placed: with 64 bits, where the system takes a wish for an address.
template <class Calls>
inline constexpr bool has_ranges = sizeof(void*) >= 8 && requires(void* place) { Calls::map_near(place, 1, true); };

/// As `os::pages`, with blocks that are aligned to a window in the range of the process.
template <class Calls>
struct ranged_pages : os::basic_pages<Calls> {
  using pages = os::basic_pages<Calls>;
  using range_type = address_range<pages, Calls>;

  /// Constant-initialised and never destroyed: usable before and after `main`.
  static inline constinit range_type range{};

  [[nodiscard]] static void* map(std::size_t bytes, std::size_t alignment) noexcept {
    return alignment >= window_bytes ? range.map(bytes, alignment, true) : pages::map(bytes, alignment);
  }
  [[nodiscard]] static void* reserve(std::size_t bytes, std::size_t alignment) noexcept {
    return alignment >= window_bytes ? range.map(bytes, alignment, false) : pages::reserve(bytes, alignment);
  }
  /// Returns: as `os::pages::release`.
  static bool release(void* p, std::size_t bytes) noexcept {
    const bool is_gone = pages::release(p, bytes);
    if (is_gone) range.forget(p, bytes);
    return is_gone;
  }
  /// Effects: as `os::pages::grow`, also of pages that are not all accessible.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE static bool grow(void* p, std::size_t bytes, std::size_t new_bytes) noexcept {
    std::byte* const end = static_cast<std::byte*>(p) + bytes;
    if (!range.try_take(end, new_bytes - bytes)) return false;
    if (pages::grow(p, bytes, new_bytes) || range.map_behind(end, new_bytes - bytes)) return true;
    range.forget(end, new_bytes - bytes);
    return false;
  }
  /// Effects: as `os::pages::move`; but a refusal, as at a limit of address space, gives a place in the range back: no
  /// one else maps there.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE static bool move(void* p, std::size_t bytes, void* place,
                                                        std::size_t new_bytes) noexcept
    requires requires { Calls::move(p, bytes, place, new_bytes); }
  {
    const bool has_moved = pages::move(p, bytes, place, new_bytes);
    if (has_moved) range.forget(p, bytes);
    else if (range.chooses_place_of(place)) release(place, new_bytes);
    return has_moved;
  }
};

template <class Fresh, class Calls>
struct range_of<basic_page_resource<Fresh, ranged_pages<Calls>>> {
  static constexpr bool is_known = true;
  [[nodiscard]] static ASHLAR_INLINE auto& range() noexcept { return ranged_pages<Calls>::range; }
};

}  // namespace ashlar::ASHLAR_ABI::detail
