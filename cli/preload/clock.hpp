// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The clock of the records: the processor's counter if all cores share it, else the monotonic clock.
#pragma once

#include <time.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "malloc/loaded_files.hpp"

namespace ashlar::recorder {

[[nodiscard]] inline std::uint64_t clock_ns(clockid_t clock) noexcept {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

[[nodiscard]] inline bool is_invariant() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
#else
  return false;
#endif
}

/// The kernel changes to one of these timers when the counters of the cores disagree.
[[nodiscard]] inline bool kernel_distrusts_it() noexcept {
  drop_in::file_lines lines("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string_view name;
  static_cast<void>(lines.next(name));
  return name == "hpet" || name == "acpi_pm" || name == "jiffies" || name == "refined-jiffies";
}

/// Set once, before the first record: whether the counter is invariant, and not rejected by the kernel.
inline bool clock_counts = false;

/// Effects: decides `clock_counts`.
inline void choose_clock() noexcept { clock_counts = is_invariant() && !kernel_distrusts_it(); }

/// Returns: now. The counter is read out of order by a few dozen instructions; the reader repairs the order of
/// different threads' records (`reader_options::skew_ns`).
[[nodiscard]] inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_expect(clock_counts, 1)) return __rdtsc();
#endif
  return clock_ns(CLOCK_MONOTONIC);
}

}  // namespace ashlar::recorder
