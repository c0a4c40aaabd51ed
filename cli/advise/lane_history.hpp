// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The allocations and the spans of each thread over time, in a bounded number of bins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/base/event.hpp>
#include <ashlar/base/trace_tables.hpp>

namespace ashlar::cli {

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
