// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A clock for deadlines of milliseconds, cheap enough for slow paths.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>

#if ASHLAR_POSIX
#include <time.h>
#elif ASHLAR_WINDOWS
#include <ashlar/detail/system/windows.hpp>
#elif ASHLAR_HOSTED
#include <chrono>
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// Returns: milliseconds since some start, monotonic, a few behind at most (on Windows 16). Modulo 2^32: differences
/// are right up to 49 days. Complexity: 5 to 20 ns, without a system call on Linux. Without an operating system time
/// stands still. Thread safety: any thread; async-signal-safe.
[[nodiscard]] inline std::uint32_t coarse_ms() noexcept {
#if ASHLAR_POSIX
#if defined(CLOCK_MONOTONIC_COARSE)
  constexpr clockid_t clock = CLOCK_MONOTONIC_COARSE;
#else
  constexpr clockid_t clock = CLOCK_MONOTONIC;
#endif
  timespec now = {};
  static_cast<void>(::clock_gettime(clock, &now));
  return static_cast<std::uint32_t>(now.tv_sec) * 1000 + static_cast<std::uint32_t>(now.tv_nsec / 1'000'000);
#elif ASHLAR_WINDOWS
  return static_cast<std::uint32_t>(::GetTickCount64());
#elif ASHLAR_HOSTED
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
#else
  return 0;
#endif
}

}  // namespace ashlar::ASHLAR_ABI::detail
