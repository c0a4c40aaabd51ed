// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many repetitions in one figure each: medians, with the least and the greatest beside them.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cli/replay/run.hpp"
#include "cli/rounds/comparison.hpp"
#include "cli/rounds/rounds.hpp"

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
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  return {median_of(values), *least, *greatest};
}

/// What a verdict is about: mean time of an operation, 99.9th percentile of the calls, resident memory at the peak and
/// at the end.
enum class measure { time, tail, peak, end };
inline constexpr std::array measures = {measure::time, measure::tail, measure::peak, measure::end};

/// Returns: what is too small to matter. `clock_step_ns` is the least difference between two calls that can be seen.
[[nodiscard]] practical_threshold threshold_of(measure m, double clock_step_ns) noexcept;

struct latency_spread {
  spread p50, p99, p999, max;
};

/// A row of the table.
struct candidate_figures {
  std::string name;
  std::string library;
  std::string failure;  ///< If not empty, nothing else holds.
  replay_stand stand = replay_stand::system;
  spread ns_per_op;  ///< `time_ns`: processor time of one thread, wall time of several.
  spread wall_ns_per_op;
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
  spread busiest_ms;                                                ///< Processor time of the thread that used most.
  std::array<std::vector<double>, measures.size()> rounds;          ///< Of each measure, a value a round.
  std::array<paired_comparison, measures.size()> against_baseline;  ///< Holds for rivals alone.
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
  /// Whether a program has it by preloading a library, as it is.
  [[nodiscard]] bool is_preloadable() const noexcept { return stand == replay_stand::system && !library.empty(); }

  [[nodiscard]] const std::vector<double>& in_rounds(measure m) const noexcept {
    return rounds[static_cast<std::size_t>(m)];
  }
  [[nodiscard]] const paired_comparison& versus(measure m) const noexcept {
    return against_baseline[static_cast<std::size_t>(m)];
  }
  [[nodiscard]] bool has(finding f) const noexcept {
    return std::any_of(against_baseline.begin(), against_baseline.end(),
                       [f](const paired_comparison& c) { return c.found == f; });
  }
};

[[nodiscard]] candidate_figures figures_of(const candidate_results& results);

/// What the table, the files and the verdict are made of.
struct replay_figures {
  std::vector<candidate_figures> rows;
  const candidate_figures* baseline = nullptr;  ///< glibc, or else the first that was measured; null if none was.
  const candidate_figures* fastest = nullptr;   ///< Of those that compete.
  rounds_played played;

  replay_figures() = default;
  replay_figures(const replay_figures&) = delete;  // its pointers point into it
  replay_figures& operator=(const replay_figures&) = delete;
  replay_figures(const std::vector<candidate_results>& results, const rounds_played& played);

  /// Returns: those that compete with the baseline.
  [[nodiscard]] std::vector<const candidate_figures*> rivals() const;
  /// Returns: whether nothing about any rival is left undecided.
  [[nodiscard]] bool decided() const;
};

}  // namespace ashlar::cli
