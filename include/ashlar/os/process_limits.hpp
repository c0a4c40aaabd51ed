// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the system lets a process have: processors and mappings.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>

#if defined(ASHLAR_HAS_KERNEL)
#include <fcntl.h>
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// Returns: processors on which the calling thread may run; 64 where there are more than 1024, and 1 where no system
/// tells.
[[nodiscard]] inline std::uint32_t usable_processors() noexcept {
#if defined(ASHLAR_HAS_KERNEL)
  bit_word words[1024 / bits_per_word] = {};
  if (call_kernel(SYS_sched_getaffinity, 0, sizeof words, words) <= 0) return 64;
  std::size_t count = 0;
  for (const bit_word each : words) count += count_bits(each);
  return static_cast<std::uint32_t>(count);
#else
  return 1;
#endif
}

/// Returns: the mappings that the system lets a process have (`vm.max_map_count`), or Linux's default.
[[nodiscard]] inline std::size_t max_mappings() noexcept {
  std::size_t found = 0;
#if defined(ASHLAR_HAS_KERNEL)
  constexpr int no_directory = -1;
  const long file = call_kernel(SYS_openat, no_directory, "/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
  char digits[20];
  const long length = file >= 0 ? call_kernel(SYS_read, file, digits, sizeof digits) : 0;
  if (file >= 0) call_kernel(SYS_close, file);
  for (long i = 0; i < length && digits[i] >= '0'; ++i) found = 10 * found + static_cast<std::size_t>(digits[i] - '0');
#endif
  return found != 0 ? found : 65'530;
}

}  // namespace ashlar::ASHLAR_ABI::detail
