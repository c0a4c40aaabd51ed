// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The resources used by a thread and a process: time, page faults, resident memory. Allocates nothing.
#pragma once

#include <cstdint>

namespace ashlar::cli {

/// The use of the calling thread so far, or between two readings.
struct thread_usage {
  double cpu_ns = 0;
  double user_ns = 0;
  double system_ns = 0;
  std::uint64_t faults = 0;

  [[nodiscard]] static thread_usage now() noexcept;
  /// Effects: adds the use from `start` to `end`.
  void add(const thread_usage& start, const thread_usage& end) noexcept;
};

/// Returns: bytes resident now; 0 if the system does not tell.
[[nodiscard]] std::uint64_t resident_bytes() noexcept;
/// Returns: the peak of resident bytes since `reset_peak_resident`, or since the start of the process if that cannot
/// reset it.
[[nodiscard]] std::uint64_t peak_resident_bytes() noexcept;
void reset_peak_resident() noexcept;
/// Returns: bytes of private memory mapped for writing, resident or not; 0 if the system does not tell.
[[nodiscard]] std::uint64_t held_bytes() noexcept;

}  // namespace ashlar::cli
