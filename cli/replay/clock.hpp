// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The finest clock of the processor: its time stamp counter if it has one, else the steady clock.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

#include <ashlar/detail/replay/tick_clock.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::cli {

struct processor_clock {
  /// Returns: ticks now. Earlier instructions have finished, so that the timed work does not leak out.
  [[nodiscard]] static ASHLAR_INLINE std::uint64_t now() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    _mm_lfence();
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t ticks = 0;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks)::"memory");
    return ticks;
#else
    return detail::steady_ticks::now();
#endif
  }
};
static_assert(detail::tick_clock<processor_clock>);

}  // namespace ashlar::cli
