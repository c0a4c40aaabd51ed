// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The resident memory of this process, in builds in which the figure is meaningful.
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

/// Returns: resident bytes; 0 if the system does not tell.
[[nodiscard]] inline std::size_t resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long total = 0, resident = 0;
  const int read = std::fscanf(file, "%lu %lu", &total, &resident);
  static_cast<void>(std::fclose(file));
  return read == 2 ? resident * ashlar::os::pages::page_bytes() : 0;
}

/// Returns: the resident pages of a mapped range of whole pages.
[[nodiscard]] inline std::size_t resident_pages_of(void* first, std::size_t bytes) {
  std::vector<unsigned char> pages(bytes / ashlar::os::pages::page_bytes());
  if (::mincore(first, bytes, pages.data()) != 0) return 0;
  return static_cast<std::size_t>(std::count_if(pages.begin(), pages.end(), [](unsigned char of) { return of & 1; }));
}

}  // namespace ashlar_test
