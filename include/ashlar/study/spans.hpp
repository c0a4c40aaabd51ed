// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What happens within each span of a trace: its duration, and the exact allocations of its thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/study/histogram.hpp>

namespace ashlar::ASHLAR_ABI::study {

/// All spans of one name, of all threads. Counts are of the span's own thread, and include the counts of spans within
/// it.
struct span_summary {
  fine_histogram durations_ns;
  std::uint64_t allocations = 0;       ///< Of all of them together.
  std::uint64_t most_allocations = 0;  ///< Of a single one.
  std::uint64_t bytes = 0;             ///< Requested, of all of them together.
  std::uint64_t most_bytes = 0;        ///< Of a single one.
  std::uint64_t most_peak_bytes = 0;   ///< Live at once above the level at the start of a single one.
  std::uint64_t unended = 0;           ///< At the end of the thread or of the trace; they count nowhere else.

  /// Returns: the number of spans that have ended.
  [[nodiscard]] std::uint64_t count() const noexcept { return durations_ns.count(); }
};

/// Spans by the ids of their names; `unmatched_ends` counts ends without a beginning.
struct span_table {
  std::map<std::uint64_t, span_summary> by_name;
  std::uint64_t unmatched_ends = 0;
};

/// Follows the spans of all threads, which nest in each thread. Before the first span nothing is counted, since only
/// differences matter. Complexity: O(1) an event; memory O(names + threads + open spans).
class span_tracker {
public:
  void begin(std::uint32_t thread, std::uint64_t name, std::uint64_t now_ns) {
    has_spans_ = true;
    thread_state& t = threads_[thread];
    t.open.push_back({name, now_ns, t.allocations, t.bytes, t.live_bytes, t.live_bytes});
  }

  void end(std::uint32_t thread, std::uint64_t now_ns) {
    thread_state& t = threads_[thread];
    if (t.open.empty()) return void(++all_.unmatched_ends);
    const open_span ended = t.open.back();
    t.open.pop_back();
    if (!t.open.empty()) t.open.back().peak_bytes = std::max(t.open.back().peak_bytes, ended.peak_bytes);
    count(ended, t, now_ns);
  }

  void allocated(std::uint32_t thread, std::uint64_t bytes) {
    if (!has_spans_) return;
    thread_state& t = threads_[thread];
    ++t.allocations;
    t.bytes += bytes;
    t.live_bytes = static_cast<std::int64_t>(static_cast<std::uint64_t>(t.live_bytes) + bytes);
    if (!t.open.empty()) t.open.back().peak_bytes = std::max(t.open.back().peak_bytes, t.live_bytes);
  }

  /// `thread` is the one that frees.
  void freed(std::uint32_t thread, std::uint64_t bytes) {
    if (!has_spans_) return;
    std::int64_t& live = threads_[thread].live_bytes;
    live = static_cast<std::int64_t>(static_cast<std::uint64_t>(live) - bytes);
  }

  /// Returns: the table. The tracker must not be used again.
  [[nodiscard]] span_table finish() {
    for (const auto& [thread, t] : threads_)
      for (const open_span& each : t.open) ++all_.by_name[each.name].unended;
    return std::move(all_);
  }

private:
  struct open_span {
    std::uint64_t name;
    std::uint64_t began_ns;
    std::uint64_t allocations;  // of the thread, at the start, as the next two
    std::uint64_t bytes;
    std::int64_t live_bytes;
    std::int64_t peak_bytes;  // of the thread, since the start
  };
  struct thread_state {
    std::vector<open_span> open;  // innermost last
    std::uint64_t allocations = 0;
    std::uint64_t bytes = 0;
    std::int64_t live_bytes = 0;  // less than 0 in a thread that frees what others allocate; modulo 2^64
  };

  void count(const open_span& ended, const thread_state& t, std::uint64_t now_ns) {
    span_summary& sum = all_.by_name[ended.name];
    sum.durations_ns.record(now_ns - ended.began_ns);
    sum.allocations += t.allocations - ended.allocations;
    sum.most_allocations = std::max(sum.most_allocations, t.allocations - ended.allocations);
    sum.bytes += t.bytes - ended.bytes;
    sum.most_bytes = std::max(sum.most_bytes, t.bytes - ended.bytes);
    sum.most_peak_bytes = std::max(sum.most_peak_bytes, static_cast<std::uint64_t>(ended.peak_bytes) -
                                                            static_cast<std::uint64_t>(ended.live_bytes));
  }

  span_table all_;
  bool has_spans_ = false;
  std::unordered_map<std::uint32_t, thread_state> threads_;
};

}  // namespace ashlar::ASHLAR_ABI::study
