// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mappings of the huge pages that a machine has set aside: MAP_HUGETLB of Linux.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/system/system_calls.hpp>

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
