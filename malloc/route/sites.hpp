// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The call sites of the plan by their return addresses, in the modules that are loaded now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>

#include "malloc/route/text.hpp"

namespace ashlar::route {

using detail::atomic;

inline constexpr std::uint32_t no_group = 0;

/// A return address, in the chain that leads to it.
struct site_node {
  std::uintptr_t address = 0;      ///< 0: an empty place of the table
  std::uint32_t inner = 0;         ///< number of the node of the inner frame; 0: the address is that of malloc's caller
  std::uint32_t number = 0;        ///< from 1 on
  std::uint32_t group = no_group;  ///< its number plus 1
  frame_step step;                 ///< to the next frame; without one the chain ends here
  /// Bytes of a cell of the group, where the address alone decides and the group is a pool; else 0.
  std::uint32_t direct_cell_bytes = 0;
};

/// Read-only after it is published.
struct site_table {
  std::uint32_t mask = 0;   // of places
  std::uint32_t shift = 0;  // of hashes
  site_node* places = nullptr;

  /// Returns: the node, or null. Complexity: one place for most addresses; half of the places are empty.
  [[nodiscard]] ASHLAR_INLINE const site_node* find(std::uintptr_t address, std::uint32_t inner) const noexcept {
    for (std::size_t at = place_of(address, inner);; at = (at + 1) & mask) {
      const site_node& node = places[at];
      if (ASHLAR_LIKELY(node.address == address && node.inner == inner)) return &node;
      if (node.address == 0) return nullptr;
    }
  }
  [[nodiscard]] ASHLAR_INLINE std::size_t place_of(std::uintptr_t address, std::uint32_t inner) const noexcept {
    return static_cast<std::size_t>(((address ^ std::uint64_t{inner} << 48) * 0x9E3779B97F4A7C15) >> shift);
  }
};

/// Whether an address may be one of a site: a byte for the low bits of each. So a call that is not routed reads one
/// byte. While libraries are being loaded, all calls are looked up.
inline constexpr std::size_t filter_bytes = 8192;
extern constinit ASHLAR_OF_THIS_LIBRARY atomic<std::uint8_t> filter[filter_bytes];
[[nodiscard]] ASHLAR_INLINE bool may_be_site(const void* return_address) noexcept {
  const std::uintptr_t low = reinterpret_cast<std::uintptr_t>(return_address) % filter_bytes;
  return ASHLAR_UNLIKELY(filter[low].load(detail::memory_order_relaxed) != 0);
}

/// The table of now; empty while there is none.
extern constinit ASHLAR_OF_THIS_LIBRARY atomic<const site_table*> sites;

/// Returns: the node in the first place for an address, of any address: most sites have it.
[[nodiscard]] ASHLAR_INLINE const site_node& likely_site(std::uintptr_t address) noexcept {
  const site_table& in = *sites.load(detail::memory_order_acquire);  // pairs with publish_sites()
  return in.places[in.place_of(address, 0)];
}

/// Returns: number plus 1 of the group of a call, or `no_group`. `frame`: of a function
/// that malloc calls last: the caller's rbp, then the return address.
[[nodiscard]] std::uint32_t group_of_call(std::uintptr_t return_address, const void* const* frame) noexcept;

/// Effects: notices the loader's calloc of the description of a module that it is about to load: the next allocations
/// of this thread look for new modules.
void notice_loader(const void* return_address) noexcept;

/// Effects: reads the plan from the text and finds its sites. Expects: no other thread allocates yet.
void begin_sites(std::string_view text) noexcept;

/// The plan that is in effect; `count` groups.
struct plan_in_effect {
  planned_group groups[most_groups];
  std::size_t count = 0;
  std::size_t modules = 0;
  bool reports = false;
  std::size_t sites = 0, sites_found = 0;  ///< chains; of them those in modules that are or were loaded
};
[[nodiscard]] const plan_in_effect& plan() noexcept;

/// @{ Over a fork. In a child no other thread loads a library any more.
void lock_sites() noexcept;
void unlock_sites() noexcept;
void unlock_sites_in_child() noexcept;
/// @}

}  // namespace ashlar::route
