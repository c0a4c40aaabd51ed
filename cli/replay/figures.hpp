// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many repetitions in one figure each: medians, with the least and the greatest value.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <ashlar/base/event.hpp>

#include "cli/replay/run.hpp"
#include "cli/rounds/effect.hpp"

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

/// The subjects of a verdict: mean time of an operation, 99.9th percentile of the calls, resident memory at the peak
/// and at the end.
enum class measure { time, tail, peak, end };
inline constexpr std::array measures = {measure::time, measure::tail, measure::peak, measure::end};
static_assert(measures.size() == detail::enum_count<measure>);

[[nodiscard]] constexpr const char* name_of(measure m) noexcept {
  constexpr detail::enum_table<measure, const char*> names = {"time", "p99.9", "memory at the peak",
                                                              "memory at the end"};
  return names[m];
}

/// Returns: the differences that matter. `clock_step_ns` is the least visible difference between two calls.
[[nodiscard]] measure_scale scale_of(measure m, double clock_step_ns) noexcept;

struct latency_spread {
  spread p50, p99, p999, max;
};

/// A row of the table.
struct candidate_figures {
  std::string name;
  std::string library;
  std::string command;  ///< Runs a program under it; empty: LD_PRELOAD alone does.
  std::string failure;  ///< If not empty, no other member is valid.
  replay_stand stand = replay_stand::system;
  spread ns_per_op;  ///< `time_ns`: processor time of one thread, wall time of several.
  spread wall_ns_per_op;
  spread cpu_ns_per_op;  ///< All threads together.
  spread user_ms;
  spread system_ms;
  spread faults;
  spread peak_bytes;  ///< Resident.
  spread end_bytes;   ///< Resident when the trace ends.
  spread held_bytes;  ///< Peak of the mapped bytes.
  spread baseline_bytes;
  spread waits;         ///< Waits for a block that another thread had not allocated yet.
  spread waited_share;  ///< Of the threads' time, from 0 to 1.
  latency_spread calls, allocations, frees;
  spread busiest_ms;                                         ///< Processor time of the busiest thread.
  detail::enum_table<measure, std::vector<double>> rounds;   ///< For each measure, a value for each round.
  detail::enum_table<measure, comparison> against_baseline;  ///< Valid for rivals only.
  double timer_ns = 0;
  double timer_step_ns = 0;
  std::uint64_t failed = 0;
  std::uint64_t damaged = 0;

  /// Returns: whether it provides its own memory.
  [[nodiscard]] bool is_allocator() const noexcept {
    return stand != replay_stand::null && stand != replay_stand::untouched;
  }
  /// Returns: whether it is compiled in, so that code has to name it.
  [[nodiscard]] bool is_heap() const noexcept {
    return stand == replay_stand::local_heap || stand == replay_stand::heap || stand == replay_stand::tiered_heap;
  }
  [[nodiscard]] bool measured() const noexcept { return failure.empty(); }
  /// Returns: whether this is an allocator, and so may win.
  [[nodiscard]] bool competes() const noexcept { return measured() && is_allocator(); }
  /// Returns: whether a program can use it unchanged, by a preloaded library.
  [[nodiscard]] bool is_preloadable() const noexcept { return stand == replay_stand::system && !library.empty(); }

  [[nodiscard]] const comparison& versus(measure m) const noexcept { return against_baseline[m]; }
};

/// Returns: `row` against `base`, round by round: the same for the same rounds.
[[nodiscard]] comparison compare(const candidate_figures& base, const candidate_figures& row, measure m, double error);

[[nodiscard]] candidate_figures figures_of(const candidate_results& results);

/// The basis of the table, the files and the verdict. All comparisons together hold with 95 %.
struct replay_figures {
  std::vector<candidate_figures> rows;
  const candidate_figures* baseline = nullptr;  ///< glibc, or else the first measured one; null if there is none.
  const candidate_figures* fastest = nullptr;   ///< Of the competing ones.
  rounds_played played;
  double error = effect_error;  ///< Of the interval of one comparison.

  replay_figures() = default;
  replay_figures(const replay_figures&) = delete;  // its pointers point into it
  replay_figures& operator=(const replay_figures&) = delete;
  replay_figures(const std::vector<candidate_results>& results, const rounds_played& played);

  /// Returns: the candidates that compete with the baseline.
  [[nodiscard]] std::vector<const candidate_figures*> rivals() const;
  /// Returns: whether every question about every rival is decided.
  [[nodiscard]] bool decided() const;
  /// Returns: the rounds that show equality of every rival with 80 %, from those played.
  [[nodiscard]] std::size_t planned() const;
};

}  // namespace ashlar::cli
