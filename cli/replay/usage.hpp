// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the system charges a thread and a process for: time, page faults, resident memory. Allocates nothing.
#pragma once

#include <cstdint>

namespace ashlar::cli {

/// What the calling thread has used so far, or used between two readings.
struct thread_usage {
  double cpu_ns = 0;
  double user_ns = 0;
  double system_ns = 0;
  std::uint64_t faults = 0;

  [[nodiscard]] static thread_usage now() noexcept;
  /// Effects: adds what was used from `start` to `end`.
  void add(const thread_usage& start, const thread_usage& end) noexcept;
};

/// Returns: bytes resident now; 0 if the system does not say.
[[nodiscard]] std::uint64_t resident_bytes() noexcept;
/// Returns: the most bytes resident since `reset_peak_resident`, or since the process began where that cannot be reset.
[[nodiscard]] std::uint64_t peak_resident_bytes() noexcept;
void reset_peak_resident() noexcept;
/// Returns: bytes of private memory mapped for writing, resident or not; 0 if the system does not say.
[[nodiscard]] std::uint64_t held_bytes() noexcept;

}  // namespace ashlar::cli
