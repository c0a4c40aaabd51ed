// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many processors a thread may run on.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>

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

}  // namespace ashlar::ASHLAR_ABI::detail
