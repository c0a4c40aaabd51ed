// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables of a heap profile: stacks with their counts, and the live samples by address.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/profiling/profilers.hpp>
#include <ashlar/os/pages.hpp>

#include "malloc/heap_profile.hpp"
#include "malloc/loaded_files.hpp"

namespace ashlar::drop_in {

/// A stack, and a range of sizes in which the largest is a quarter above the smallest: readers of a profile divide by
/// the probability of the mean size.
struct profile_stack {
  static constexpr std::uint32_t most_frames = 32;

  const void* frames[most_frames];
  std::uint16_t modules[most_frames];  // of the frames, which another module may take the addresses of; 0: unknown
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
      value = (value ^ ashlar::address_of(frames[at]) ^ modules[at]) * 0x9E37'79B9'7F4A'7C15u, value ^= value >> 29;
    return static_cast<std::uint32_t>(value >> 32);
  }
  [[nodiscard]] bool is_same(const profile_stack& as) const noexcept {
    return depth == as.depth && size_range == as.size_range &&
           std::memcmp(frames, as.frames, depth * sizeof frames[0]) == 0 &&
           std::memcmp(modules, as.modules, depth * sizeof modules[0]) == 0;
  }
};

/// The samples of one stack and range of sizes.
struct profile_site {
  profile_stack stack;
  std::uint64_t live, live_bytes, allocated, allocated_bytes;

  /// Returns: live bytes by estimate: a sample of a small block stands for the bytes of an interval and half its own.
  [[nodiscard]] std::uint64_t estimated_bytes(std::uint64_t interval) const noexcept {
    return detail::max(live_bytes, live * interval + live_bytes / 2);
  }

  void add_allocated(std::size_t bytes) noexcept { ++allocated, allocated_bytes += bytes; }
  void add_live(std::size_t bytes) noexcept { ++live, live_bytes += bytes; }
  void remove_live(std::size_t bytes) noexcept { --live, live_bytes -= bytes; }
};

/// A file that was loaded when a sample was taken, by its line of the memory map.
struct profile_module {
  std::uint32_t line_bytes;  // 0: there is no map
  bool is_closed;            // while the profile is written
  char text[512];

  [[nodiscard]] std::string_view line() const noexcept { return {text, line_bytes}; }

  /// Effects: notes the line of the memory map that has the address.
  ASHLAR_COLD void note(const void* address) noexcept {
    file_lines lines("/proc/self/maps");
    for (std::string_view each; lines.next(each);) {
      const map_line line(each);
      if (ashlar::address_of(address) < line.begin || ashlar::address_of(address) >= line.end) continue;
      line_bytes = static_cast<std::uint32_t>(detail::min(each.size(), sizeof text));
      std::memcpy(text, each.data(), line_bytes);
      return;
    }
  }
};

/// All zero before `begin`. Site 0 has no frames: it takes the samples of further stacks when the table is full. Live
/// samples that no table has memory for are not counted as live. Module 0 is unknown. Thread safety: none.
struct profile_tables {
  static constexpr std::uint32_t most_sites = 16'384, site_slots = 2 * most_sites, most_modules = 1024;

  struct site_table {
    std::uint16_t index[site_slots];  // of a site, by the hash of its stack; 0: none
    profile_site sites[most_sites];
    std::uint64_t identities[most_modules];
    profile_module modules[most_modules];
  };

  std::uint32_t interval = 0;
  std::uint32_t sites_used = 0;
  std::uint16_t modules_used = 0;
  std::uint32_t frames_without = 0;  ///< a module, as the table is full
  site_table* stacks = nullptr;
  detail::address_table<profiled_block> blocks;

  /// Returns: false without memory.
  [[nodiscard]] ASHLAR_COLD bool begin(std::uint32_t mean) noexcept {
    void* const pages = os::pages::map(os::pages::round_up(sizeof(site_table)), os::pages::page_bytes());
    if (pages == nullptr) return false;
    stacks = static_cast<site_table*>(pages);
    sites_used = modules_used = 1;
    interval = mean;
    return true;
  }

  [[nodiscard]] profile_site& site(std::uint32_t number) noexcept { return stacks->sites[number]; }
  [[nodiscard]] const profile_site& site(std::uint32_t number) const noexcept { return stacks->sites[number]; }

  [[nodiscard]] profile_module& module(std::uint32_t number) noexcept { return stacks->modules[number]; }
  [[nodiscard]] const profile_module& module(std::uint32_t number) const noexcept { return stacks->modules[number]; }

  /// Returns: the number of the module that has the address now, a new one at its first call. Complexity: reads the
  /// memory map for a new one.
  [[nodiscard]] ASHLAR_COLD std::uint16_t module_of(std::uint64_t identity, const void* address) noexcept {
    if (identity == 0) return 0;
    std::uint16_t number = modules_used;
    while (number != 0 && stacks->identities[--number] != identity) {
    }
    if (number != 0) return number;
    if (modules_used == most_modules) return ++frames_without, std::uint16_t{0};
    stacks->identities[modules_used] = identity;
    module(modules_used).note(address);
    return modules_used++;
  }

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

/// Effects: writes the profile to the file that `naming` names, with the number of the process for `%p`. Allocates
/// nothing; async-signal-safe. Frames of a module that is no longer loaded move to an address where no memory is, which
/// the map names the module for. A file that cannot be written, or not as a whole, is a line on the kept error stream.
void write_profile(const char* naming, profile_tables& of) noexcept;

/// Effects: writes the estimated live bytes of a site and its stack to the kept error stream. Async-signal-safe.
void write_holder(const profile_site& of, std::uint32_t interval) noexcept;

}  // namespace ashlar::drop_in
