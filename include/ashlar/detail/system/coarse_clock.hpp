// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A clock for deadlines of milliseconds, cheap enough for slow paths.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/kernel.hpp>
#include <ashlar/detail/system/auxiliary_values.hpp>
#include <ashlar/detail/system/vdso.hpp>

#if ASHLAR_POSIX
#include <time.h>
#elif ASHLAR_WINDOWS
#include <ashlar/detail/system/windows.hpp>
#elif ASHLAR_HOSTED
#include <chrono>
#endif

namespace ashlar::ASHLAR_ABI::detail {

#if ASHLAR_MAPS_BY_KERNEL && ASHLAR_HAS_VDSO

/// clock_gettime of the kernel: other libraries stand in front of the one of the C library, to change the
/// time. Constant-initialised. Thread safety: any thread; async-signal-safe.
class kernel_clock {
public:
  /// Effects: finds the function, so that no later call asks for it.
  static void find() noexcept { static_cast<void>(function()); }

  [[nodiscard]] static timespec now(clockid_t clock) noexcept {
    timespec time = {};
    const auto read = function();
    if (read == nullptr || read(clock, &time) != 0) detail::call_kernel(SYS_clock_gettime, clock, &time);
    return time;
  }

private:
  using reader = int (*)(clockid_t, timespec*);
  static constexpr std::uintptr_t none = 1;  // no function has this address

  [[nodiscard]] static reader function() noexcept {
    std::uintptr_t known = function_.load(memory_order_relaxed);
    if (known == 0) function_.store(known = search(), memory_order_relaxed);
    return known == none ? nullptr : reinterpret_cast<reader>(known);
  }

  [[nodiscard]] ASHLAR_COLD static std::uintptr_t search() noexcept {
#if defined(__aarch64__)
    constexpr const char* name = "__kernel_clock_gettime";
#else
    constexpr const char* name = "__vdso_clock_gettime";
#endif
    const std::uintptr_t image = auxiliary_value<AT_SYSINFO_EHDR>::get();
    const std::uintptr_t found = image != 0 ? vdso_symbols(image).find(name) : 0;
    return found != 0 ? found : none;
  }

  static inline constinit atomic<std::uintptr_t> function_ = 0;
};

#elif ASHLAR_POSIX

struct kernel_clock {
  static void find() noexcept {}
  [[nodiscard]] static timespec now(clockid_t clock) noexcept {
    timespec time = {};
    static_cast<void>(::clock_gettime(clock, &time));
    return time;
  }
};

#endif

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
  const timespec now = kernel_clock::now(clock);
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
