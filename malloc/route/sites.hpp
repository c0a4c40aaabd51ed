// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The call sites of the plan by their return addresses, in the modules that are loaded now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>

#include "malloc/route/text.hpp"

namespace ashlar::route {

using detail::atomic;

inline constexpr std::uint32_t no_group = ~std::uint32_t{0};

/// Returns: the key of a return address behind the node of its inner frame; 0: it is the address of malloc's caller.
/// Nodes are fewer than 2^16, as a plan has at most `most_frames` frames, and addresses have 47 bits.
[[nodiscard]] constexpr std::uint64_t site_key(std::uintptr_t address, std::uint32_t inner) noexcept {
  return address ^ std::uint64_t{inner} << 48;
}

/// A return address, in the chain that leads to it.
struct site_node {
  std::uint64_t key = 0;           ///< 0: an empty place of the table
  std::uint32_t number = 0;        ///< from 1 on
  std::uint32_t group = no_group;  ///< its number
  frame_step step;                 ///< to the next frame; without one the chain ends here
  /// @{ Where the chain ends: bytes of a cell of the group, if it is a pool, else of its largest block; else 0.
  std::uint32_t cell_bytes = 0;
  std::uint32_t block_bytes = 0;
  /// @}
};

/// Read-only after it is published.
struct site_table {
  std::uint32_t mask = 0;   // of places
  std::uint32_t shift = 0;  // of hashes
  site_node* places = nullptr;

  /// Returns: the node, or null. Complexity: one place for most addresses; half of the places are empty.
  [[nodiscard]] ASHLAR_INLINE const site_node* find(std::uint64_t key) const noexcept {
    for (std::size_t at = place_of(key);; at = (at + 1) & mask) {
      const site_node& node = places[at];
      if (ASHLAR_LIKELY(node.key == key)) return &node;
      if (node.key == 0) return nullptr;
    }
  }
  [[nodiscard]] ASHLAR_INLINE std::size_t place_of(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15) >> shift);
  }
};

/// Whether an address may be one of a site: a byte for the low bits of each. So a call that is not routed reads one
/// byte, and one of a wrapper whose callers alone tell sites apart a second one. While libraries are being loaded, all
/// calls are looked up.
inline constexpr std::size_t filter_bytes = 8192;
inline constexpr std::uint8_t begins_chain = 1, continues_chain = 2;
extern constinit ASHLAR_OF_THIS_LIBRARY atomic<std::uint8_t> filter[filter_bytes];
[[nodiscard]] ASHLAR_INLINE bool may_be(std::uint8_t part, std::uintptr_t return_address) noexcept {
  return (filter[return_address % filter_bytes].load(detail::memory_order_relaxed) & part) != 0;
}
[[nodiscard]] ASHLAR_INLINE bool may_be_site(const void* return_address) noexcept {
  return ASHLAR_UNLIKELY(may_be(begins_chain, reinterpret_cast<std::uintptr_t>(return_address)));
}

/// The table of now; empty while there is none.
extern constinit ASHLAR_OF_THIS_LIBRARY atomic<const site_table*> sites;

/// Returns: the node in the first place for an address, of any address: most sites have it.
[[nodiscard]] ASHLAR_INLINE const site_node& likely_site(std::uintptr_t address) noexcept {
  const site_table& in = *sites.load(detail::memory_order_acquire);  // pairs with publish_sites()
  return in.places[in.place_of(site_key(address, 0))];
}

/// Returns: whether no chain goes on from `first`, which has no group of its own, to the caller of the calling wrapper,
/// as far as one frame and one byte tell. `frame`: as below. Expects: the call is at `first`.
[[nodiscard]] ASHLAR_INLINE bool is_beside_chains(const site_node& first, const void* const* frame) noexcept {
  if (first.group != no_group || first.step.from_rbp) return false;
  const std::uintptr_t cfa = reinterpret_cast<std::uintptr_t>(frame + 2) + first.step.cfa_offset;
  return !may_be(continues_chain, *reinterpret_cast<const std::uintptr_t*>(cfa - sizeof(void*)));
}

/// Returns: the node at which the longest chain ends that begins with `first`, or null: none has a group. `frame`: of
/// a function that malloc calls last: the caller's rbp, then the return address. Complexity: a load and a place of the
/// table for each further frame.
[[nodiscard]] ASHLAR_INLINE const site_node* end_of_chain(const site_table& in, const site_node& first,
                                                          const void* const* frame) noexcept {
  constexpr std::uintptr_t most_step = std::uintptr_t{1} << 20;  // bytes from one frame to the next
  auto rbp = reinterpret_cast<std::uintptr_t>(frame[0]);
  auto rsp = reinterpret_cast<std::uintptr_t>(frame + 2);
  const site_node* found = first.group != no_group ? &first : nullptr;
  for (const site_node* node = &first; node->step.cfa_offset != 0;) {
    std::uintptr_t cfa = rsp + node->step.cfa_offset;
    if (ASHLAR_UNLIKELY(node->step.needs_rbp)) {
      if (node->step.from_rbp) cfa = rbp + node->step.cfa_offset;
      if (cfa <= rsp || cfa - rsp > most_step || cfa % sizeof(void*) != 0) break;
      if (node->step.rbp_offset != 0) rbp = *reinterpret_cast<const std::uintptr_t*>(cfa - node->step.rbp_offset);
    }
    node = in.find(site_key(*reinterpret_cast<const std::uintptr_t*>(cfa - sizeof(void*)), node->number));
    if (node == nullptr) break;
    if (node->group != no_group) found = node;
    rsp = cfa;
  }
  return found;
}

/// As above, of a call whose first node is not known, or null.
[[nodiscard]] const site_node* site_of_call(std::uintptr_t return_address, const void* const* frame) noexcept;

/// Effects: calls at the sites of groups that take none no longer pass the filter. Thread safety: any thread.
void revise_filter() noexcept;

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
