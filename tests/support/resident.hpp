// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How much memory of this process is resident, where a figure means something.
#pragma once

#include <cstddef>
#include <cstdio>

#include <ashlar/os/pages.hpp>

#include "tests/support/build.hpp"

namespace ashlar_test {

/// Whether what is resident is the program's own: sanitizers have shadows, and keep what was freed.
inline constexpr bool residency_means_something = !has_asan && !has_tsan;

/// Returns: resident bytes; 0 where the system does not say.
[[nodiscard]] inline std::size_t resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long total = 0, resident = 0;
  const int read = std::fscanf(file, "%lu %lu", &total, &resident);
  static_cast<void>(std::fclose(file));
  return read == 2 ? resident * ashlar::os::pages::page_bytes() : 0;
}

}  // namespace ashlar_test
