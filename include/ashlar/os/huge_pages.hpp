// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Huge pages: those that the machine has set aside, or else transparent ones.
#pragma once

#include <cstddef>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/os/system_calls.hpp>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// Huge pages of 2 MiB that the administrator has set aside (`/proc/sys/vm/nr_hugepages`).
struct reserved_huge_pages {
  static constexpr std::size_t page_bytes = std::size_t{2} << 20;

  /// Returns: a usable mapping, all zero, at a multiple of `page_bytes`; null where too few pages are set aside, and on
  /// systems other than Linux. May change `errno`. Expects: `bytes` is a multiple of `page_bytes`.
  [[nodiscard]] static void* map([[maybe_unused]] std::size_t bytes) noexcept {
#if defined(MAP_HUGETLB)
    constexpr int of_two_mib = 21 << 26;  // MAP_HUGE_2MB, missing in older system headers
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | of_two_mib;
    void* const p = memory_calls::map(nullptr, bytes, PROT_READ | PROT_WRITE, flags);
    return p != MAP_FAILED ? p : nullptr;
#else
    return nullptr;
#endif
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI::os {

/// The calls behind `huge_pages`. Each mapping starts at a multiple of 2 MiB: it has pages of `Reserved` if enough are
/// set aside, or else pages of `Pages` with a wish for transparent huge pages. Nothing tells which, but the speed and
/// `/proc/self/smaps`. Thread safety: any thread.
template <class Pages, class Reserved>
struct huge_page_calls {
  static constexpr std::size_t least_part_bytes = Pages::releases_parts ? Reserved::page_bytes : 0;

  [[nodiscard]] static constexpr std::size_t page_bytes() noexcept { return Reserved::page_bytes; }

  /// Returns: null if the system has neither. Address space that is not usable has no pages that were set aside.
  [[nodiscard]] static void* map_aligned(std::size_t bytes, std::size_t alignment, bool usable) noexcept {
    if (alignment < page_bytes()) alignment = page_bytes();
    if (!usable) return Pages::reserve(bytes, alignment);
    if (void* const p = map_reserved(bytes, alignment)) return p;
    void* const p = Pages::map(bytes, alignment);
    if (p != nullptr) Pages::advise_huge(p, bytes);
    return p;
  }

  [[nodiscard]] static bool unmap(void* p, std::size_t bytes) noexcept { return Pages::release(p, bytes); }

  /// Effects: makes reserved pages usable; `decommit` is the way back.
  [[nodiscard]] static bool protect(void* p, std::size_t bytes, bool /*usable*/) noexcept {
    if (!Pages::commit(p, bytes)) return false;
    Pages::advise_huge(p, bytes);
    return true;
  }

  static bool decommit(void* p, std::size_t bytes) noexcept { return Pages::decommit(p, bytes); }
  static bool populate(void* p, std::size_t bytes) noexcept { return Pages::populate(p, bytes), true; }
  static bool advise_huge(void* p, std::size_t bytes) noexcept { return Pages::advise_huge(p, bytes), true; }
  [[nodiscard]] static bool lock(void* p, std::size_t bytes) noexcept { return Pages::lock(p, bytes); }

private:
  // A larger alignment needs more pages for a moment, and gives the surplus back.
  [[nodiscard]] static void* map_reserved(std::size_t bytes, std::size_t alignment) noexcept {
    std::size_t wide = 0;
    if (!checked_add(bytes, alignment - page_bytes(), wide)) return nullptr;
    auto* const start = static_cast<std::byte*>(Reserved::map(wide));
    if (start == nullptr || alignment == page_bytes()) return start;
    std::byte* const p = align_up(start, alignment);
    const auto before = static_cast<std::size_t>(p - start);
    if (before != 0) Pages::release(start, before);
    if (before + bytes != wide) Pages::release(p + bytes, wide - before - bytes);
    return p;
  }
};

}  // namespace ashlar::ASHLAR_ABI::os
