// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory of this process, and the part of it that is resident, in builds in which the figure is meaningful.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <ashlar/os/pages.hpp>

#include "tests/support/build.hpp"

namespace ashlar_test {

/// Whether resident memory is the program's own: sanitizers have shadow memory, and keep freed blocks.
inline constexpr bool residency_means_something = !has_asan && !has_tsan;

namespace detail {

/// The pages of this process; 0 if the system does not tell.
struct pages_of_process {
  unsigned long all = 0, resident = 0;

  pages_of_process() {
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr) return;
    if (std::fscanf(file, "%lu %lu", &all, &resident) != 2) all = resident = 0;
    static_cast<void>(std::fclose(file));
  }
};

}  // namespace detail

/// Returns: resident bytes.
[[nodiscard]] inline std::size_t resident_bytes() {
  return detail::pages_of_process().resident * ashlar::os::pages::page_bytes();
}

/// Returns: bytes of address space.
[[nodiscard]] inline std::size_t address_space_bytes() {
  return detail::pages_of_process().all * ashlar::os::pages::page_bytes();
}

/// Returns: the resident pages of a mapped range of whole pages.
[[nodiscard]] inline std::size_t resident_pages_of(void* first, std::size_t bytes) {
  std::vector<unsigned char> pages(bytes / ashlar::os::pages::page_bytes());
  if (::mincore(first, bytes, pages.data()) != 0) return 0;
  return static_cast<std::size_t>(std::count_if(pages.begin(), pages.end(), [](unsigned char of) { return of & 1; }));
}

}  // namespace ashlar_test
