// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables of a heap profile: stacks with their counts, and the live samples by address.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/detail/profiling/address_table.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/os/pages.hpp>

#include "malloc/heap_profile.hpp"

namespace ashlar::drop_in {

/// A stack, and a range of sizes in which the largest is a quarter above the smallest: readers of a profile divide by
/// the probability of the mean size.
struct profile_stack {
  static constexpr std::uint32_t most_frames = 32;

  const void* frames[most_frames];
  std::uint32_t depth;
  std::uint32_t size_range;

  [[nodiscard]] static constexpr std::uint32_t range_of(std::size_t bytes) noexcept {
    const auto width = static_cast<std::uint32_t>(std::bit_width(bytes));
    return width < 3 ? static_cast<std::uint32_t>(bytes)
                     : width * 4 + static_cast<std::uint32_t>(bytes >> (width - 3) & 3);
  }
  [[nodiscard]] std::uint32_t hash() const noexcept {
    std::uint64_t value = size_range;
    for (std::uint32_t at = 0; at < depth; ++at)
      value = (value ^ detail::address_of(frames[at])) * 0x9E37'79B9'7F4A'7C15u, value ^= value >> 29;
    return static_cast<std::uint32_t>(value >> 32);
  }
  [[nodiscard]] bool is_same(const profile_stack& as) const noexcept {
    return depth == as.depth && size_range == as.size_range &&
           std::memcmp(frames, as.frames, depth * sizeof frames[0]) == 0;
  }
};

/// The samples of one stack and range of sizes.
struct profile_site {
  profile_stack stack;
  std::uint64_t live, live_bytes, allocated, allocated_bytes;

  /// Returns: live bytes by estimate: a sample of a small block stands for those of an interval and half its own.
  [[nodiscard]] std::uint64_t estimated_bytes(std::uint64_t interval) const noexcept {
    return detail::max(live_bytes, live * interval + live_bytes / 2);
  }

  void add_allocated(std::size_t bytes) noexcept { ++allocated, allocated_bytes += bytes; }
  void add_live(std::size_t bytes) noexcept { ++live, live_bytes += bytes; }
  void remove_live(std::size_t bytes) noexcept { --live, live_bytes -= bytes; }
};

/// All zero before `begin`. Site 0 has no frames: it takes the samples of further stacks when the table is full. Live
/// samples that no table has memory for are not counted as live. Thread safety: none.
struct profile_tables {
  static constexpr std::uint32_t most_sites = 16'384, site_slots = 2 * most_sites;

  struct site_table {
    std::uint16_t index[site_slots];  // of a site, by the hash of its stack; 0: none
    profile_site sites[most_sites];
  };

  std::uint32_t interval = 0;
  std::uint32_t sites_used = 0;
  site_table* stacks = nullptr;
  detail::address_table<profiled_block> blocks;

  /// Returns: false without memory.
  [[nodiscard]] ASHLAR_COLD bool begin(std::uint32_t mean) noexcept {
    void* const pages = os::pages::map(os::pages::round_up(sizeof(site_table)), os::pages::page_bytes());
    if (pages == nullptr) return false;
    stacks = static_cast<site_table*>(pages);
    sites_used = 1;
    interval = mean;
    return true;
  }

  [[nodiscard]] profile_site& site(std::uint32_t number) noexcept { return stacks->sites[number]; }
  [[nodiscard]] const profile_site& site(std::uint32_t number) const noexcept { return stacks->sites[number]; }

  /// Returns: the site of a stack, a new one at its first call.
  [[nodiscard]] ASHLAR_COLD std::uint32_t site_of(const profile_stack& stack) noexcept {
    for (std::uint32_t slot = stack.hash() % site_slots;; slot = (slot + 1) % site_slots) {
      std::uint16_t& at = stacks->index[slot];
      if (at != 0 && site(at).stack.is_same(stack)) return at;
      if (at != 0) continue;
      if (sites_used == most_sites) return 0;
      at = static_cast<std::uint16_t>(sites_used++);
      site(at).stack = stack;
      return at;
    }
  }

  /// Returns: the site with the most live bytes; after `than`, the next one; site 0 after the last.
  [[nodiscard]] ASHLAR_COLD std::uint32_t largest_after(std::uint32_t than) const noexcept {
    const std::uint64_t most = than != 0 ? live_bytes_of(than) : UINT64_MAX;
    std::uint32_t found = 0;
    std::uint64_t bytes = 0;
    for (std::uint32_t number = 1; number < sites_used; ++number) {
      const std::uint64_t its = live_bytes_of(number);
      if (its > bytes && (its < most || (its == most && number > than))) found = number, bytes = its;
    }
    return found;
  }

  [[nodiscard]] std::uint64_t live_bytes_of(std::uint32_t number) const noexcept {
    return site(number).estimated_bytes(interval);
  }
};

}  // namespace ashlar::drop_in
