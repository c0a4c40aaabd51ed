// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The choice of the allocations that go to guarded pages: a countdown of each thread on the slow paths.
#pragma once

#include <bit>
#include <cstdint>

#include <ashlar/base/config.hpp>

namespace ashlar::drop_in {

/// Below this interval, which is for tests, all requests take the slow path and are counted one by one. From it on the
/// fast paths count nothing: a cell at a sampled address stands for the others of its size.
inline constexpr std::uint32_t least_estimated_interval = 1000;
/// Milliseconds between two samples of the process, from that interval on: a sample costs about 20 us.
inline constexpr std::uint32_t least_distance_ms = 10;

/// The state of a thread. Zero: it has not begun.
struct sample_countdown {
  std::int32_t left = 0;     ///< allocations until the next sample
  std::uint32_t random = 0;  ///< the last random number
  bool is_sampling = false;  ///< inside of a sample: the unwinder may allocate
};
ASHLAR_IN_STATIC_TLS extern constinit thread_local sample_countdown until_sample;

/// Effects: one in `interval` allocations of each thread is a sample from now on, on average; 0: none.
void sample_one_in(std::uint32_t interval) noexcept;

/// Effects: counts allocations. Returns: whether one may be a sample, which `is_sample` decides.
[[nodiscard]] ASHLAR_INLINE bool counts_down(std::int32_t allocations) noexcept {
  return ASHLAR_UNLIKELY((until_sample.left -= allocations) < 0);
}

/// Effects: begins the next countdown. Returns: whether the present allocation is a sample.
[[nodiscard]] bool is_sample() noexcept;

/// Marks a thread as inside of a sample.
class sampling_scope {
public:
  sampling_scope() noexcept : was_sampling_(until_sample.is_sampling) { until_sample.is_sampling = true; }
  sampling_scope(const sampling_scope&) = delete;
  sampling_scope& operator=(const sampling_scope&) = delete;
  ~sampling_scope() { until_sample.is_sampling = was_sampling_; }

private:
  const bool was_sampling_;  // a scope may lie in another
};

/// Returns: a random number of the calling thread, never 0.
[[nodiscard]] std::uint32_t random_of_thread() noexcept;

/// Returns: `-log2(bits / 2^32)` in units of 2^-16, rounded to one of them. Expects: `bits` is not 0.
[[nodiscard]] constexpr std::uint32_t minus_log2(std::uint32_t bits) noexcept {
  const int zeros = std::countl_zero(bits);
  std::uint64_t mantissa = std::uint64_t{bits} << zeros;  // of 2^31, in [1, 2)
  std::uint32_t fraction = 0;
  for (int digit = 0; digit < 16; ++digit) {  // a square has twice the logarithm: its next binary digit is in front
    mantissa = mantissa * mantissa >> 31;
    const bool carries = mantissa >> 32 != 0;
    fraction = fraction << 1 | (carries ? 1u : 0u);
    mantissa >>= carries ? 1 : 0;
  }
  return (static_cast<std::uint32_t>(zeros + 1) << 16) - fraction;
}

/// Returns: a distance with the mean `mean`, exponentially distributed if `bits` is uniform. Expects: `bits` is not 0.
[[nodiscard]] constexpr std::uint64_t exponential(std::uint32_t mean, std::uint32_t bits) noexcept {
  constexpr std::uint64_t ln2 = 45'426;  // in units of 2^-16
  return (std::uint64_t{mean} * minus_log2(bits) >> 8) * ln2 >> 24;
}

/// Returns: the next of a sequence of 2^32 - 1 numbers without 0. Expects: `last` is not 0.
[[nodiscard]] constexpr std::uint32_t next_random(std::uint32_t last) noexcept {
  last ^= last << 13;
  last ^= last >> 17;
  return last ^ last << 5;
}

}  // namespace ashlar::drop_in
