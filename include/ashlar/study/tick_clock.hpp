// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The finest clock of the machine: the time stamp counter where there is one, else the steady clock.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/base/hints.hpp>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

namespace ashlar::inline ASHLAR_ABI::study {

/// Ticks of no stated length; `calibration` turns them into nanoseconds.
class tick_clock {
public:
  /// Returns: ticks now. Instructions before it have finished, so that what is timed does not leak out.
  [[nodiscard]] static ASHLAR_INLINE std::uint64_t now() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    _mm_lfence();
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t ticks;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks)::"memory");
    return ticks;
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
  }

  /// Returns: ticks between two readings with nothing between them, the median of 1,001. What is left of a timed call
  /// once this is taken off is the call.
  [[nodiscard]] static std::uint64_t overhead() noexcept {
    std::array<std::uint64_t, 1001> samples{};
    for (std::uint64_t& sample : samples) {
      const std::uint64_t start = now();
      sample = now() - start;
    }
    const auto middle = samples.begin() + samples.size() / 2;
    std::nth_element(samples.begin(), middle, samples.end());
    return *middle;
  }

  /// Returns: the smallest step between different readings; some processors count 26 ticks at a time.
  [[nodiscard]] static std::uint64_t step() noexcept {
    std::uint64_t least = ~std::uint64_t{0};
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t start = now();
      const std::uint64_t elapsed = now() - start;
      if (elapsed != 0) least = std::min(least, elapsed);
    }
    return least;
  }
};

/// How long a tick is, from a stretch of time seen by both clocks.
class tick_calibration {
public:
  tick_calibration() noexcept : start_(std::chrono::steady_clock::now()), start_ticks_(tick_clock::now()) {}

  /// Returns: nanoseconds a tick since construction; better the longer that was ago.
  [[nodiscard]] double ns_per_tick() const noexcept {
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    const std::uint64_t ticks = std::max<std::uint64_t>(tick_clock::now() - start_ticks_, 1);
    return std::chrono::duration<double, std::nano>(elapsed).count() / static_cast<double>(ticks);
  }

private:
  std::chrono::steady_clock::time_point start_;
  std::uint64_t start_ticks_;
};

}  // namespace ashlar::inline ASHLAR_ABI::study
