// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The summary of a trace: counts, sizes, lifetimes, threads, spans, live bytes over time and call sites.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/study/histogram.hpp>

namespace ashlar::ASHLAR_ABI::study {

/// A value over time, recorded in one pass: its least and greatest of each of at most `max_points` equal spans, which
/// double when points run out; no peak is ever lost.
class timeline {
public:
  struct point {
    std::uint64_t time_ns;  ///< Start of the span.
    std::uint64_t least;
    std::uint64_t greatest;
  };

  /// Expects: `max_points` is even and not 0.
  explicit timeline(std::size_t max_points = 512) : max_points_(max_points) { spans_.reserve(max_points); }

  /// Effects: the value is `value` from `time_ns` on. A time before the previous one counts as that one.
  void record(std::uint64_t time_ns, std::uint64_t value) {
    while (time_ns >> width_log2_ >= max_points_) halve();
    const auto at = static_cast<std::size_t>(time_ns >> width_log2_);
    while (spans_.size() <= at) spans_.push_back({last_, last_});
    span& s = spans_.back();
    s.least = std::min(s.least, value);
    s.greatest = std::max(s.greatest, value);
    last_ = value;
  }

  [[nodiscard]] std::uint64_t span_ns() const noexcept { return std::uint64_t{1} << width_log2_; }

  [[nodiscard]] std::vector<point> points() const {
    std::vector<point> all;
    all.reserve(spans_.size());
    for (std::size_t i = 0; i < spans_.size(); ++i) all.push_back({i * span_ns(), spans_[i].least, spans_[i].greatest});
    return all;
  }

private:
  struct span {
    std::uint64_t least;
    std::uint64_t greatest;
  };

  void halve() {
    for (std::size_t i = 0; i < spans_.size(); i += 2) {
      const span& a = spans_[i];
      const span& b = i + 1 < spans_.size() ? spans_[i + 1] : a;
      spans_[i / 2] = {std::min(a.least, b.least), std::max(a.greatest, b.greatest)};
    }
    spans_.resize((spans_.size() + 1) / 2, span{});
    ++width_log2_;
  }

  std::size_t max_points_;
  unsigned width_log2_ = 10;  // of a span, in nanoseconds
  std::uint64_t last_ = 0;
  std::vector<span> spans_;
};

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

/// A number of objects and the bytes requested for them.
struct amount {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;

  void add(std::uint64_t size) noexcept {
    ++objects;
    bytes += size;
  }
  void remove(std::uint64_t size) noexcept {
    --objects;
    bytes -= size;
  }
  amount& operator+=(const amount& more) noexcept {
    objects += more.objects;
    bytes += more.bytes;
    return *this;
  }
  friend bool operator==(const amount&, const amount&) = default;
};

/// Objects and bytes by size: exact up to 2 KiB, within 0.1 % above.
class size_table {
public:
  struct row {
    std::uint64_t least;
    std::uint64_t greatest;
    amount sum;
  };

  void record(std::uint64_t size) noexcept { sums_[scale::bucket_of(size)].add(size); }

  void merge(const size_table& other) noexcept {
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
  }

  /// Returns: the sizes that occurred, in order.
  [[nodiscard]] std::vector<row> rows() const {
    std::vector<row> all;
    for (std::size_t i = 0; i < sums_.size(); ++i)
      if (sums_[i].objects != 0) all.push_back({scale::lower(i), scale::upper(i), sums_[i]});
    return all;
  }

private:
  // 55 doublings of 1,024 steps, less than 1 MiB.
  using scale = histogram<10>;
  std::vector<amount> sums_ = std::vector<amount>(scale::buckets);
};

/// The counters of one thread.
struct thread_summary {
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::uint64_t freed_remote = 0;  ///< Objects of its own that another thread freed.
  std::uint64_t bytes = 0;         ///< Bytes requested.
  std::uint64_t live_bytes = 0;    ///< At the end, of those that it allocated.
  std::uint64_t peak_bytes = 0;    ///< The most of these at once.
  std::uint64_t name = 0;          ///< The id of its name; 0: none was given.
  bool ended = false;
};

/// The allocations of one call stack.
struct site_summary {
  amount allocated;
  amount live;             ///< At the end of the trace.
  double lifetime_ns = 0;  ///< Summed over the objects that were freed.
};

/// The result of `summariser`. A reallocation counts as an allocation and, if there was an old object, as a free.
struct trace_summary {
  std::array<std::uint64_t, trace::operation_count> operations{};
  std::uint64_t duration_ns = 0;
  amount allocated;  ///< Over the whole run.
  amount live;       ///< At the end: never freed.
  amount peak;       ///< At the moment with the most live bytes.
  std::uint64_t peak_ns = 0;
  std::uint64_t failed = 0;        ///< Allocating calls that returned null.
  std::uint64_t frees = 0;         ///< Of objects in the trace.
  std::uint64_t unknown = 0;       ///< Frees of objects that the trace does not contain.
  std::uint64_t cross_thread = 0;  ///< Frees by a thread that did not allocate the object.
  size_table sizes;
  fine_histogram lifetimes_ns;
  coarse_histogram lifetimes_bytes;  ///< Bytes allocated by all threads between an object's birth and its death.
  timeline live_bytes;
  std::map<std::uint32_t, thread_summary> threads;
  std::map<std::uint32_t, site_summary> sites;  ///< By call-stack id; 0 stands for no stack.
  span_table spans;
};

}  // namespace ashlar::ASHLAR_ABI::study
