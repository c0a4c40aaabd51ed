// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The clock of the records: the processor's counter if all cores share it, else the monotonic clock.
#pragma once

#include <cstdint>

#include <time.h>
#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

namespace ashlar::recorder {

[[nodiscard]] inline std::uint64_t clock_ns(clockid_t clock) noexcept {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

/// Set once, before the first record: whether the counter may be trusted.
extern bool clock_counts;

/// Effects: decides `clock_counts`.
void choose_clock() noexcept;

/// Returns: now. The counter is read out of order by a few dozen instructions; the reader repairs the order of
/// different threads' records (`reader_options::skew_ns`).
[[nodiscard]] inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_expect(clock_counts, 1)) return __rdtsc();
#endif
  return clock_ns(CLOCK_MONOTONIC);
}

}  // namespace ashlar::recorder
