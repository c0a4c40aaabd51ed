// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many repetitions in one figure each: medians, with the least and the greatest value.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <ashlar/base/event.hpp>
#include <ashlar/study/window_compiler.hpp>

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

/// The subjects of a verdict: mean time of an operation, 99.9th percentile of calls, resident memory at peak and end.
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
struct candidate_figures : candidate {
  std::string failure;  ///< If not empty, no other member is valid.
  spread ns_per_op;     ///< `time_ns`: processor time of one thread, wall time of several.
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

[[nodiscard]] constexpr double per_operation(double total, const replay_result& r) {
  return r.operations == 0 ? 0 : total / static_cast<double>(r.operations);
}

/// A figure of the repetitions without timers, with its name in JSON.
struct replay_total {
  spread candidate_figures::* figure;
  const char* key;
  double (*of)(const replay_result&);
};
inline constexpr replay_total replay_totals[] = {
    {&candidate_figures::ns_per_op, "ns_per_operation",
     [](const replay_result& r) { return per_operation(time_ns(r), r); }},
    {&candidate_figures::wall_ns_per_op, "wall_ns_per_operation",
     [](const replay_result& r) { return per_operation(r.wall_ns, r); }},
    {&candidate_figures::cpu_ns_per_op, "cpu_ns_per_operation",
     [](const replay_result& r) { return per_operation(r.cpu_ns, r); }},
    {&candidate_figures::busiest_ms, "busiest_thread_cpu_ms",
     [](const replay_result& r) { return r.busiest_cpu_ns / 1e6; }},
    {&candidate_figures::user_ms, "user_ms", [](const replay_result& r) { return r.user_ns / 1e6; }},
    {&candidate_figures::system_ms, "system_ms", [](const replay_result& r) { return r.system_ns / 1e6; }},
    {&candidate_figures::faults, "page_faults", [](const replay_result& r) { return static_cast<double>(r.faults); }},
    {&candidate_figures::peak_bytes, "peak_rss_bytes",
     [](const replay_result& r) { return static_cast<double>(r.peak_bytes); }},
    {&candidate_figures::end_bytes, "end_rss_bytes",
     [](const replay_result& r) { return static_cast<double>(r.end_bytes); }},
    {&candidate_figures::held_bytes, "peak_held_bytes",
     [](const replay_result& r) { return static_cast<double>(r.held_bytes); }},
    {&candidate_figures::baseline_bytes, "baseline_rss_bytes",
     [](const replay_result& r) { return static_cast<double>(r.baseline_bytes); }},
    {&candidate_figures::waits, "waits", [](const replay_result& r) { return static_cast<double>(r.waits); }},
    {&candidate_figures::waited_share, "waited_share",
     [](const replay_result& r) { return r.threads_ns > 0 ? r.waited_ns / r.threads_ns : 0; }}};

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

/// The replayed trace.
struct replayed_trace {
  std::string path;
  std::string program;
  detail::replay_counts counts;
  std::uint64_t duration_ns = 0;  ///< Of the recorded run; much of it is recording.
  double program_ns = 0;          ///< Of a run without recording; 0: unknown.
  std::size_t repetitions = 0;
  std::vector<std::string> missing;   ///< Usual allocators that are missing on this machine.
  std::vector<std::string> left_out;  ///< Candidates that cannot serve this trace: one sentence for each.
};

[[nodiscard]] std::string replay_table(const replay_figures& figures);
/// Returns: the memory of each allocator for the program's live bytes.
[[nodiscard]] std::string replay_memory_table(const replay_figures& figures, const replayed_trace& trace);
/// Returns: the cost of all threads together and their waits for each other; empty for a trace of one thread.
[[nodiscard]] std::string replay_threads_table(const replay_figures& figures, const replayed_trace& trace);
/// Returns: "1.25x"; empty if no byte was live.
[[nodiscard]] std::string per_live_byte(const spread& bytes, const replayed_trace& trace);
/// Returns: the method and the omissions, one line for each.
[[nodiscard]] std::vector<std::string> replay_notes(const replay_figures& figures, const replayed_trace& trace);
/// Returns: one line about the replayed trace.
[[nodiscard]] std::string replay_headline(const replayed_trace& trace);

/// Returns: the method of the findings; empty if there are none.
[[nodiscard]] std::string replay_findings_heading(const replay_figures& figures);
/// Returns: a line for each rival of the baseline: its gains, its losses, its open questions.
[[nodiscard]] std::vector<std::string> replay_findings(const replay_figures& figures);
/// Returns: the allocator to use, or the advice to change nothing, or the repetitions that a decision needs.
[[nodiscard]] std::string replay_verdict(const replay_figures& figures);
/// Returns: the rival with the greatest gain of time, else of tail, else of memory; null if none gains.
[[nodiscard]] const candidate_figures* replay_winner(const replay_figures& figures);
/// Returns: the effect of the winner's gain of time on the recorded program as a whole; empty without a gain.
[[nodiscard]] std::string replay_meaning(const replay_figures& figures, const replayed_trace& trace);

/// Milliseconds of allocation that a run of the program would save. The overlap of several threads is unknown: `least`
/// is the busiest thread alone, `most` all threads one after the other.
struct saved_time {
  double least_ms = 0;
  double most_ms = 0;
};
[[nodiscard]] saved_time saved_by(const candidate_figures& row, const replay_figures& figures,
                                  const detail::replay_counts& counts);

/// Returns: the rounds that decide about a rival.
[[nodiscard]] std::size_t rounds_wanted(const candidate_figures& row, measure m);

/// Returns: for an unchanged program the malloc to preload, or to change nothing, or the repetitions that would decide.
[[nodiscard]] std::string preload_verdict(const replay_figures& figures);
[[nodiscard]] bool preload_is_open(const replay_figures& figures);

/// Returns: every figure with its unit in its name.
[[nodiscard]] nlohmann::json replay_json(const replay_figures& figures, const replayed_trace& trace);

}  // namespace ashlar::cli
