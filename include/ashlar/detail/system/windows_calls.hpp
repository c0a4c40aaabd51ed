// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls behind pages on Windows: a reservation is given back as a whole, its parts are only decommitted.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/panic.hpp>
#include <ashlar/detail/system/windows.hpp>

#if ASHLAR_WINDOWS

namespace ashlar::ASHLAR_ABI::detail {

/// As the calls of POSIX systems (detail/system/system_calls.hpp), with these differences: a block is one reservation,
/// which `unmap` takes by its start; a block grows only into what it was shrunk by, and does not move; nothing is
/// locked, since a purge would unlock it.
struct system_calls {
  static constexpr std::size_t least_part_bytes = 0;

  /// On all processors that Windows runs on.
  [[nodiscard]] static std::size_t page_bytes() noexcept { return 4096; }

  /// Returns: new address space, either readable and writable or inaccessible, or null. It starts at 64 KiB.
  [[nodiscard]] static void* map(std::size_t bytes, bool accessible) noexcept {
    return place(nullptr, bytes, accessible);
  }

  /// As `map`, at a multiple of `alignment`.
  [[nodiscard]] static void* map_aligned(std::size_t bytes, std::size_t alignment, bool accessible) noexcept {
    if (alignment <= granularity) return map(bytes, accessible);
    std::size_t wide = 0;
    if (!checked_add(bytes, alignment - granularity, wide)) return nullptr;
    for (int attempt = 0; attempt != attempts; ++attempt) {
      void* const start = map(wide, false);
      if (start == nullptr || !unmap(start, wide)) return nullptr;
      // Another thread may take the place between these calls.
      if (void* const p = place(align_up(start, alignment), bytes, accessible)) return p;
    }
    return nullptr;
  }

  /// Effects: gives a whole reservation back. Returns: false if `p` is not the start of one; then nothing has changed.
  [[nodiscard]] static bool unmap(void* p, std::size_t /*bytes*/) noexcept {
    return ::VirtualFree(p, 0, windows::mem_release) != 0;
  }

  /// Effects: makes pages accessible, zero if they were not committed; or inaccessible, with their contents.
  [[nodiscard]] static bool protect(void* p, std::size_t bytes, bool accessible) noexcept {
    unsigned long before = 0;
    return accessible ? commit(p, bytes) : ::VirtualProtect(p, bytes, windows::page_no_access, &before) != 0;
  }

  /// Effects: drops the contents and makes the pages inaccessible; the address space stays.
  static bool decommit(void* p, std::size_t bytes) noexcept {
    // The system would round to whole pages outwards.
    const bool is_whole = p != nullptr && bytes != 0 && (address_of(p) | bytes) % page_bytes() == 0;
    return is_whole && ::VirtualFree(p, bytes, windows::mem_decommit) != 0;
  }

  /// Effects: drops the contents and returns the memory to the system; the pages stay usable. Ends the process if other
  /// programs take all memory meanwhile for seconds, as other systems do at the next touch.
  [[nodiscard]] static bool discard(void* p, std::size_t bytes) noexcept {
    if (!decommit(p, bytes)) return false;
    for (unsigned long wait_ms = 1; !commit(p, bytes); wait_ms *= 2) {
      if (wait_ms > longest_wait_ms) panic("ashlar: the system has no memory for pages that were in use before");
      ::Sleep(wait_ms);
    }
    return true;
  }

  /// Effects: commits pages behind the block, as far as its reservation extends: a block grows into what it was shrunk
  /// by. Expects: `p` is the start of a block.
  [[nodiscard]] static bool grow(void* p, std::size_t bytes, std::size_t new_bytes) noexcept {
    void* const end = static_cast<std::byte*>(p) + bytes;
    const windows::region behind = windows::region_at(end);
    const bool is_room = behind.reservation == p && behind.state == windows::mem_reserve && behind.start == end &&
                         behind.bytes >= new_bytes - bytes;
    return is_room && commit(end, new_bytes - bytes);
  }

  /// @{ Refused.
  [[nodiscard]] static bool populate(void*, std::size_t) noexcept { return false; }
  [[nodiscard]] static bool advise_huge(void*, std::size_t) noexcept { return false; }
  [[nodiscard]] static bool lock(void*, std::size_t) noexcept { return false; }
  /// @}

  /// Returns: whether the range is accessible at this moment. Does not read `p`.
  [[nodiscard]] static bool is_mapped(const void* p, std::size_t bytes) noexcept {
    const windows::region around = windows::region_at(p);
    const std::uintptr_t end = address_of(around.start) + static_cast<std::uintptr_t>(around.bytes);
    return around.state == windows::mem_commit && (around.protection & windows::page_no_access) == 0 &&
           bytes <= end - address_of(p);
  }

private:
  static constexpr std::size_t granularity = std::size_t{64} * 1024;  // of the starts of reservations
  static constexpr int attempts = 64;
  static constexpr unsigned long longest_wait_ms = 2048;

  [[nodiscard]] static void* place(void* at, std::size_t bytes, bool accessible) noexcept {
    return ::VirtualAlloc(at, bytes, windows::mem_reserve | (accessible ? windows::mem_commit : 0UL),
                          accessible ? windows::page_read_write : windows::page_no_access);
  }

  [[nodiscard]] static bool commit(void* p, std::size_t bytes) noexcept {
    return p != nullptr && ::VirtualAlloc(p, bytes, windows::mem_commit, windows::page_read_write) != nullptr;
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail

#endif
