// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What one replay in one process measured: plain data, because it travels through a pipe.
#pragma once

#include <cstdint>
#include <type_traits>

namespace ashlar::cli {

/// Nanoseconds a call; `max` is exact, the others are within 3.2 %.
struct latency_figures {
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
  std::uint64_t calls = 0;
};

struct replay_result {
  std::uint64_t operations = 0;
  std::uint64_t lanes = 0;
  double wall_ns = 0;         ///< From the first lane's start to the last lane's end, summed over the windows.
  double cpu_ns = 0;          ///< Of all lanes together.
  double busiest_cpu_ns = 0;  ///< Of the lane that used most.
  double user_ns = 0;
  double system_ns = 0;
  double threads_ns = 0;             ///< Wall time of each lane in each window, summed.
  double waited_ns = 0;              ///< Of that: until another lane had allocated what was to be freed or moved.
  std::uint64_t waits = 0;           ///< How often.
  std::uint64_t faults = 0;          ///< Minor page faults.
  std::uint64_t baseline_bytes = 0;  ///< Resident before the first operation: program, libraries, buffers.
  std::uint64_t peak_bytes = 0;      ///< Most that was ever resident, less the baseline.
  std::uint64_t end_bytes = 0;       ///< Resident after the last operation, less the baseline.
  std::uint64_t held_bytes = 0;      ///< Most that was mapped for writing when a window ended, less the replay's own.
  std::uint64_t failed = 0;          ///< Requests that the allocator could not serve.
  std::uint64_t damaged = 0;         ///< Blocks whose contents somebody else changed.
  double timer_ns = 0;               ///< What reading the clock twice costs; taken off the latencies.
  double timer_step_ns = 0;          ///< What the clock can tell apart at best.
  latency_figures calls;             ///< Allocations and frees together. Latencies are 0 unless asked for.
  latency_figures allocations;
  latency_figures frees;
};
/// Returns: what the operations took. A thread alone waits for nothing but a processor, so its own time on it counts,
/// which other programs disturb least; several threads wait for each other, so what counts of them is wall time.
[[nodiscard]] inline double time_ns(const replay_result& r) noexcept { return r.lanes == 1 ? r.cpu_ns : r.wall_ns; }
static_assert(std::is_trivially_copyable_v<replay_result>);

}  // namespace ashlar::cli
