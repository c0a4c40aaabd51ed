// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The live bytes of every call stack over time, and the allocations and spans of each thread, each in a bounded number
// of bins: the time scale doubles when bins run out.
#pragma once

#include <ashlar/base/event.hpp>
#include <ashlar/base/trace_tables.hpp>
#include <ashlar/study/summary.hpp>

namespace ashlar::cli {

/// What a stack allocated, over all traces.
struct stack_totals {
  study::amount allocated;
  study::amount temporary;  ///< Freed before the thread's next allocation.
  study::amount never_freed;
};

/// Each bin shows one moment, the moment of its most live bytes, so that no peak is lost. It is stored as the
/// difference from the moment of the bin before, by stack:
///
///     live bytes of a stack in bin i = sum of its differences in the bins 0 to i
///
/// Several traces follow one another. Complexity: O(1) an event, amortised. Memory: O(stacks), and 16 bytes for each
/// difference; bins are joined in pairs when there are more than `most_changes` differences, down to `least_bins`.
class live_history {
public:
  static constexpr std::size_t most_bins = 256;
  static constexpr std::size_t least_bins = 64;
  static constexpr std::size_t most_changes = std::size_t{1} << 20;

  struct change {
    std::uint32_t stack = 0;
    std::int64_t bytes = 0;
  };
  struct bin {
    std::uint64_t bytes = 0;  ///< Live at the moment of the bin.
    std::vector<change> changes = {};
  };

  /// `stacks`: the largest id.
  explicit live_history(std::size_t stacks) : stacks_(stacks + 1) {}

  void born(std::uint32_t stack, std::uint64_t bytes, std::uint64_t now_ns);
  void died(std::uint32_t stack, std::uint64_t bytes, bool temporary, std::uint64_t now_ns);
  /// Effects: what is alive now may be the most of its bin; called after all changes of an event.
  void settle();
  /// Effects: what is alive was never freed; the next trace begins at the end of this one.
  void end_trace(std::uint64_t now_ns);
  /// Effects: closes the last bin. The history must not be added to again.
  void finish();

  [[nodiscard]] const std::vector<bin>& bins() const noexcept { return bins_; }
  [[nodiscard]] std::uint64_t bin_ns() const noexcept { return width_ns_; }
  /// Returns: the ends of the traces, in nanoseconds since the start of the first.
  [[nodiscard]] const std::vector<std::uint64_t>& ends() const noexcept { return ends_; }
  [[nodiscard]] const stack_totals& of(std::uint32_t stack) const noexcept { return stacks_[stack].totals; }
  [[nodiscard]] std::size_t stack_count() const noexcept { return stacks_.size() - 1; }

private:
  struct stack_state {
    stack_totals totals;
    study::amount live;
    std::uint64_t at_moment = 0;  ///< Live bytes at the moment of the open bin, as of `version`.
    std::uint64_t version = 0;    ///< The moment that `at_moment` belongs to.
    std::uint64_t in_bins = 0;    ///< The sum of the differences so far.
    bool touched = false;
  };

  stack_state& touch(std::uint32_t stack);
  void advance(std::uint64_t now_ns);
  void open_bin();
  void close_bin();
  void halve();

  std::vector<stack_state> stacks_;
  std::vector<std::uint32_t> touched_;  // whose live bytes may differ from the sum of their differences
  std::vector<bin> bins_;
  std::vector<std::uint64_t> ends_;
  std::size_t changes_ = 0;
  std::uint64_t width_ns_ = 1024;
  std::uint64_t before_ns_ = 0;  // the traces before this one
  std::uint64_t live_bytes_ = 0;
  std::uint64_t moment_bytes_ = 0;
  std::uint64_t moment_ = 1;  // the version of the open bin's
};

/// Several traces follow one another; their threads of the same id share a lane. Complexity: O(1) an event, and O(bins
/// within it) for the end of a span. Memory: O(lanes * bins).
class lane_history {
public:
  static constexpr std::size_t most_bins = 256;
  static constexpr std::size_t most_threads = 64;
  static constexpr std::size_t most_spans = 128;  ///< Pairs of a thread and a name.

  struct thread_lane {
    std::string name;                   ///< Empty: it has none.
    std::vector<std::uint64_t> counts;  ///< Allocations in each bin.
  };
  struct span_lane {
    std::uint64_t spans = 0;
    std::uint64_t total_ns = 0;
    std::vector<std::uint64_t> covered_ns;  ///< Of each bin; spans within spans of the same name count once each.
  };
  using span_key = std::pair<std::uint32_t, std::string>;  ///< Thread and name.

  /// `names` outlives the trace.
  void begin_trace(const trace::name_table& names);
  void add(const trace::event& e);
  /// Effects: open spans end here.
  void end_trace();

  [[nodiscard]] std::uint64_t bin_ns() const noexcept { return width_ns_; }
  [[nodiscard]] const std::map<std::uint32_t, thread_lane>& threads() const noexcept { return threads_; }
  [[nodiscard]] const std::map<span_key, span_lane>& spans() const noexcept { return spans_; }
  /// Returns: the spans that have no lane, since there were too many.
  [[nodiscard]] std::size_t spans_left_out() const noexcept { return spans_left_out_; }

private:
  struct open_span {
    std::uint64_t name = 0;
    std::uint64_t began_ns = 0;
  };

  void end_span(std::uint32_t thread);
  void cover(span_lane& lane, std::uint64_t from, std::uint64_t to) const;
  void halve();
  thread_lane* lane_of(std::uint32_t thread);

  const trace::name_table* names_ = nullptr;
  std::map<std::uint32_t, thread_lane> threads_;
  std::map<span_key, span_lane> spans_;
  std::map<std::uint32_t, std::vector<open_span>> open_;
  std::size_t spans_left_out_ = 0;
  std::uint64_t width_ns_ = 1024;
  std::uint64_t before_ns_ = 0;  // the traces before this one
  std::uint64_t now_ns_ = 0;
};

}  // namespace ashlar::cli
