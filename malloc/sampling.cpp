// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Countdowns to samples: exponential distances, and a limit of samples in a time.
#include "malloc/sampling.hpp"

#include <cstdint>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/os/random_bits.hpp>

namespace ashlar::drop_in {

ASHLAR_IN_STATIC_TLS constinit thread_local sample_countdown until_sample;

namespace {

constexpr std::int32_t unsampled = 1 << 16;  // allocations until a thread looks at the interval again

// 0 before the first constructor of the library: what a sample calls may not be relocated yet.
constinit detail::atomic<std::uint32_t> sample_interval = 0;
constinit detail::atomic<std::uint32_t> last_sample_ms = 0;

// Returns: whether the last sample of the process is long enough ago; then this one is the last.
[[nodiscard]] bool passes_limit() noexcept {
  const std::uint32_t now = detail::coarse_ms();
  std::uint32_t last = last_sample_ms.load(detail::memory_order_relaxed);
  return now - last >= least_distance_ms &&
         last_sample_ms.compare_exchange_strong(last, now, detail::memory_order_relaxed, detail::memory_order_relaxed);
}

[[nodiscard]] std::int32_t next_distance(std::uint32_t interval) noexcept {
  if (interval == 1) return 0;
  return static_cast<std::int32_t>(detail::min<std::uint64_t>(exponential(interval, random_of_thread()), INT32_MAX));
}

}  // namespace

void sample_one_in(std::uint32_t interval) noexcept {
  sample_interval.store(interval, detail::memory_order_relaxed);
  if (interval != 0 && interval < least_estimated_interval) until_sample.left = 0;
}

std::uint32_t random_of_thread() noexcept {
  if (until_sample.random == 0) {
    const std::uint64_t thread = ashlar::address_of(&until_sample) ^ detail::coarse_ms();
    until_sample.random = static_cast<std::uint32_t>(detail::mixed(detail::process_secret() ^ thread)) | 1;
  }
  return until_sample.random = next_random(until_sample.random);
}

ASHLAR_COLD bool is_sample() noexcept {
  const std::uint32_t interval = sample_interval.load(detail::memory_order_relaxed);
  if (interval == 0) return until_sample.left = unsampled, false;
  const bool begins = until_sample.random == 0, estimates = interval >= least_estimated_interval;
  until_sample.left = next_distance(interval);
  if (until_sample.is_sampling || (begins && estimates)) return false;
  return !estimates || passes_limit();
}

}  // namespace ashlar::drop_in
