// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A direct-mapped table of slabs by address, which answers most look-ups of a free with one load.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Some of the slabs of a pool, each at the entry of its slab number, address / slab_bytes. A slab displaces another
/// one of the same entry: the table may lack a held slab, but never names one that is not held.
///
///   address -> slab number -> [ entry: slab or null ] -> is the address in a cell of that slab? -> else the tree of
/// all
///
/// Thread safety: none. Complexity: O(1) unless stated.
class slab_map {
public:
  static constexpr std::size_t places = is_hosted ? 256 : 16;  // 256: 16 MiB of neighbouring slabs of 64 KiB

  /// Returns: the only slab here that may have that slab number, or null.
  [[nodiscard]] ASHLAR_INLINE slab* at(std::size_t number) const noexcept { return slabs_[number % places]; }

  void remember(slab* held, std::size_t number) noexcept { slabs_[number % places] = held; }

  /// Complexity: O(places).
  void forget(const slab* leaving) noexcept {
    for (slab*& each : slabs_)
      if (each == leaving) each = nullptr;
  }

private:
  std::array<slab*, places> slabs_ = {};
};

/// The counterpart at `fast`, where no free is looked up: no bytes and no code.
struct no_slab_map {
  [[nodiscard]] static slab* at(std::size_t) noexcept { return nullptr; }
  static void remember(const slab*, std::size_t) noexcept {}
  static void forget(const slab*) noexcept {}
};

using slab_map_if_checked = std::conditional_t<checking_level >= checking::checked, slab_map, no_slab_map>;

}  // namespace ashlar::ASHLAR_ABI::detail
