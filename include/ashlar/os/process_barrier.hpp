// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An asymmetric fence: one thread makes all others of the process pass a full barrier.
#pragma once

#include <cstdint>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>

#if defined(ASHLAR_HAS_KERNEL) && defined(SYS_membarrier) && !defined(__SANITIZE_THREAD__)
#define ASHLAR_HAS_PROCESS_BARRIER 1
#endif
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)  // it takes what one thread passes for another as a race
#undef ASHLAR_HAS_PROCESS_BARRIER
#endif
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// Threads of the light side store, call `expect`, and load; one of the heavy side stores, calls `pass`, and loads. At
/// least one of two such threads sees the other's store, as after a full fence each. Over Linux: `membarrier`, private
/// and expedited, which interrupts the processors on which the process runs. Thread safety: any thread.
class process_barrier {
public:
  /// Effects: none at run time: the compiler keeps the order.
  static ASHLAR_INLINE void expect() noexcept { atomic_signal_fence(); }

#if defined(ASHLAR_HAS_PROCESS_BARRIER)
  static constexpr bool is_possible = true;

  /// Effects: announces the process to the system, which takes long once it has several threads. Returns: false where
  /// the system refuses; then `pass` fails.
  static bool announce() noexcept { return call_kernel(SYS_membarrier, 1 << 4, 0, 0) == 0; }

  /// Effects: every other thread passes a full barrier between the call and its return. Returns: false, without an
  /// effect, where the system has none. Complexity: 1 to 4 us.
  [[nodiscard]] static bool pass() noexcept { return call_kernel(SYS_membarrier, 1 << 3, 0, 0) == 0; }

  /// Returns: the number of the calling thread, for `is_running`.
  [[nodiscard]] static std::uint32_t this_thread() noexcept {
    return static_cast<std::uint32_t>(call_kernel(SYS_gettid));
  }
  /// Returns: whether a thread of the process has the number.
  [[nodiscard]] static bool is_running(std::uint32_t thread) noexcept {
    return call_kernel(SYS_tgkill, call_kernel(SYS_getpid), thread, 0) == 0;
  }
#else
  static constexpr bool is_possible = false;
  static bool announce() noexcept { return false; }
  [[nodiscard]] static bool pass() noexcept { return false; }
  [[nodiscard]] static std::uint32_t this_thread() noexcept { return 0; }
  [[nodiscard]] static bool is_running(std::uint32_t) noexcept { return false; }
#endif
};

}  // namespace ashlar::ASHLAR_ABI::detail

#undef ASHLAR_HAS_PROCESS_BARRIER
