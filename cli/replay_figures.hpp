// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many repetitions in one figure each: medians, with the least and the greatest beside them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "replay_run.hpp"

namespace ashlar::cli {

struct spread {
  double median = 0;
  double least = 0;
  double greatest = 0;
};

/// Returns: the spread of `f` over `results`; all 0 if there are none.
template <class F>
[[nodiscard]] spread spread_of(const std::vector<replay_result>& results, F&& f) {
  std::vector<double> values;
  for (const replay_result& r : results) values.push_back(f(r));
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median = values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {median, values.front(), values.back()};
}

struct latency_spread {
  spread p50, p99, p999, max;
};

/// A row of the table.
struct candidate_figures {
  std::string name;
  std::string library;
  std::string failure;  ///< If not empty, nothing else holds.
  replay_stand stand = replay_stand::system;
  spread ns_per_op;      ///< Wall.
  spread cpu_ns_per_op;  ///< All threads together.
  spread user_ms;
  spread system_ms;
  spread faults;
  spread peak_bytes;  ///< Resident.
  spread end_bytes;   ///< Resident when the trace ends.
  spread held_bytes;  ///< Mapped, at most.
  spread baseline_bytes;
  spread waits;         ///< Blocks that another thread had still to allocate.
  spread waited_share;  ///< Of the threads' time, from 0 to 1.
  latency_spread calls, allocations, frees;
  double timer_ns = 0;
  double timer_step_ns = 0;
  std::uint64_t failed = 0;
  std::uint64_t damaged = 0;

  /// Whether it hands out memory of its own.
  [[nodiscard]] bool is_allocator() const noexcept {
    return stand != replay_stand::null && stand != replay_stand::untouched;
  }
  /// Whether it is compiled in, and code has to ask for it by name.
  [[nodiscard]] bool is_heap() const noexcept {
    return stand == replay_stand::local_heap || stand == replay_stand::heap || stand == replay_stand::tiered_heap;
  }
  [[nodiscard]] bool measured() const noexcept { return failure.empty(); }
  /// Whether this is an allocator at all, and so may win.
  [[nodiscard]] bool competes() const noexcept { return measured() && is_allocator(); }
};

[[nodiscard]] candidate_figures figures_of(const candidate_results& results);

/// What the table, the files and the verdict are made of.
struct replay_figures {
  std::vector<candidate_figures> rows;
  const candidate_figures* baseline = nullptr;  ///< glibc, or else the first that was measured; null if none was.
  const candidate_figures* fastest = nullptr;   ///< Of those that compete.

  replay_figures() = default;
  replay_figures(const replay_figures&) = delete;  // its pointers point into it
  replay_figures& operator=(const replay_figures&) = delete;
  explicit replay_figures(const std::vector<candidate_results>& results);
};

}  // namespace ashlar::cli
