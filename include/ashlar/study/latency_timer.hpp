// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times each call of a replay in ticks, allocations and frees separately.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/study/histogram.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A policy: `now()` counts ticks of any length and never goes back.
template <class C>
concept tick_clock = requires {
  { C::now() } noexcept -> std::same_as<std::uint64_t>;
};

/// The standard library's clock. A program that knows its processor has a finer one.
struct steady_ticks {
  [[nodiscard]] static std::uint64_t now() noexcept {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
};
static_assert(tick_clock<steady_ticks>);

/// Returns: ticks between two consecutive readings, the median of 1,001. The rest of a timed call is the call itself.
template <tick_clock Clock>
[[nodiscard]] std::uint64_t clock_overhead() noexcept {
  std::array<std::uint64_t, 1001> samples{};
  for (std::uint64_t& sample : samples) {
    const std::uint64_t start = Clock::now();
    sample = Clock::now() - start;
  }
  const auto middle = samples.begin() + samples.size() / 2;
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

/// Returns: the smallest step between different readings; some processors count 26 ticks at a time.
template <tick_clock Clock>
[[nodiscard]] std::uint64_t clock_step() noexcept {
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t start = Clock::now();
    const std::uint64_t elapsed = Clock::now() - start;
    if (elapsed != 0) least = std::min(least, elapsed);
  }
  return least;
}

/// The length of a tick, from one interval measured by `Clock` and by the steady clock.
template <tick_clock Clock>
class tick_calibration {
public:
  tick_calibration() noexcept : start_(std::chrono::steady_clock::now()), start_ticks_(Clock::now()) {}

  /// Returns: nanoseconds per tick since construction; more exact after a longer time.
  [[nodiscard]] double ns_per_tick() const noexcept {
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    const std::uint64_t ticks = std::max<std::uint64_t>(Clock::now() - start_ticks_, 1);
    return std::chrono::duration<double, std::nano>(elapsed).count() / static_cast<double>(ticks);
  }

private:
  std::chrono::steady_clock::time_point start_;
  std::uint64_t start_ticks_;
};

/// Subtracts the clock's own ticks from every sample; a call below the resolution of the clock counts as 0.
template <tick_clock Clock>
class latency_timer {
public:
  explicit latency_timer(std::uint64_t overhead) noexcept : overhead_(overhead) {}

  template <class F>
  ASHLAR_INLINE decltype(auto) allocation(F&& f) {
    const std::uint64_t start = Clock::now();
    decltype(auto) block = std::forward<F>(f)();
    record(allocations_, Clock::now() - start);
    return block;
  }

  template <class F>
  ASHLAR_INLINE void deallocation(F&& f) {
    const std::uint64_t start = Clock::now();
    std::forward<F>(f)();
    record(deallocations_, Clock::now() - start);
  }

  [[nodiscard]] const study::fine_histogram& allocations() const noexcept { return allocations_; }
  [[nodiscard]] const study::fine_histogram& deallocations() const noexcept { return deallocations_; }

private:
  ASHLAR_INLINE void record(study::fine_histogram& histogram, std::uint64_t ticks) noexcept {
    histogram.record(ticks > overhead_ ? ticks - overhead_ : 0);
  }

  std::uint64_t overhead_;
  study::fine_histogram allocations_;
  study::fine_histogram deallocations_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
