// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Free huge blocks that are inaccessible until they serve again.
#pragma once

#include <cstddef>
#include <cstring>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/page_map.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A spare huge block of a heap with guards holds no memory, and each access to it is a fault; opened, it is zero. A
/// spare segment stays accessible, since its head is read. `Pages`: the `page_discard` of the heap. Thread safety:
/// none, for one extent.
template <class Pages>
class spare_guards {
public:
  static constexpr bool are_kept = Pages::has_guards;

  /// Returns: whether the extent is inaccessible while it is spare.
  [[nodiscard]] static bool has(const window& extent) noexcept { return are_kept && !extent.is_segment(); }

  /// @{ Returns: false if the system refuses, as beyond its number of mappings: the block is as before, or zero.
  /// Effects: drops the contents and makes all pages inaccessible; the reverse. Expects: `has(extent)`.
  [[nodiscard]] static bool close([[maybe_unused]] const window& extent) noexcept {
    if constexpr (are_kept) {
      if (!Pages::discard(extent.start, extent.bytes())) std::memset(extent.start, 0, extent.bytes());  // locked pages
      return Pages::protect(extent.start, extent.bytes(), false);
    } else {
      return true;
    }
  }
  [[nodiscard]] static bool open([[maybe_unused]] const window& extent) noexcept {
    if constexpr (are_kept) return Pages::protect(extent.start, extent.bytes(), true);
    else return true;
  }
  /// @}
};

}  // namespace ashlar::ASHLAR_ABI::detail
