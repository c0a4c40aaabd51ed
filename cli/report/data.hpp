// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A trace's summary prepared for display: call sites named, sizes and lifetimes in few rows.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include <ashlar/study/summary.hpp>

#include "cli/report/own_allocator.hpp"
#include "cli/report/trace.hpp"
#include "cli/support/symbolise.hpp"
#include "cli/support/wrappers.hpp"

namespace ashlar::cli {

/// A bar of a histogram.
struct histogram_row {
  std::uint64_t least = 0;
  std::uint64_t greatest = 0;
  std::uint64_t count = 0;
  double bytes = 0;
};

/// Returns: 0, 1, 2, 4, 8, ...; with `factor` 4: 0, 1, 4, 16, ...
[[nodiscard]] std::vector<std::uint64_t> binary_boundaries(std::uint64_t factor = 2);
/// Returns: 0, 1, 2, 5, 10, 20, 50, ... or, if `decades`, 0, 1, 10, 100, ...
[[nodiscard]] std::vector<std::uint64_t> decimal_boundaries(bool decades = false);

/// Sorts values into rows between boundaries.
class row_builder {
public:
  /// Expects: ascending, from 0.
  explicit row_builder(std::vector<std::uint64_t> boundaries) : boundaries_(std::move(boundaries)) {}

  void add(std::uint64_t value, std::uint64_t count, double bytes = 0);
  /// Returns: the rows from the first to the last that is not empty.
  [[nodiscard]] std::vector<histogram_row> rows() const;

private:
  [[nodiscard]] histogram_row empty_row(std::size_t index) const;

  std::vector<std::uint64_t> boundaries_;
  std::map<std::size_t, histogram_row> rows_;
};

/// All stacks that request memory at the same place from the same four callers.
struct call_site {
  std::vector<std::string> calls;  ///< The place of the request, then its callers.
  std::string through;             ///< The wrapper or C library function that the first one calls; empty: none.
  study::amount allocated;
  study::amount live;  ///< Never freed.
  double mean_lifetime_ns = 0;
};

/// One thread, with its number and name.
struct thread_row {
  std::uint32_t id = 0;
  study::thread_summary sum;
  std::string name = {};  ///< Empty if it has none.

  /// Returns: "3", or "3 audio".
  [[nodiscard]] std::string title() const { return std::to_string(id) + (name.empty() ? "" : " " + name); }
};

/// The spans of one name.
struct span_row {
  std::string name;
  study::span_summary sum;
};

struct report_data {
  std::string path;
  std::string program;
  std::string warning;                    ///< About the trace; empty if it is whole.
  std::vector<std::string> notes;         ///< About names that are missing.
  std::string choice;                     ///< About the process among those of the recording; empty: there is one.
  nlohmann::json processes = {};          ///< All of them; null: one.
  std::uint64_t resident_peak_bytes = 0;  ///< 0: unknown.
  std::uint64_t anonymous_peak_bytes = 0;
  std::optional<own_allocator> own;
  std::uint64_t file_bytes = 0;
  bool has_stacks = false;
  study::trace_summary sum;
  std::uint64_t events = 0;
  std::vector<histogram_row> sizes;            ///< Powers of two.
  std::vector<histogram_row> common_sizes;     ///< The most frequent ones, most frequent first.
  std::vector<histogram_row> lifetimes_ns;     ///< 1, 2, 5, 10, ... nanoseconds.
  std::vector<histogram_row> lifetimes_bytes;  ///< Powers of two.
  std::vector<thread_row> threads;             ///< The busiest, busiest first.
  std::size_t thread_count = 0;
  std::vector<span_row> spans;  ///< By name.
  std::size_t site_count = 0;
  std::vector<std::string> passed_through;  ///< In most requests, innermost first; left out of the call sites.
  std::vector<call_site> by_count;
  std::vector<call_site> by_bytes;
  std::vector<call_site> by_live;  ///< Never freed.
};

/// Returns: a line about the calls left out of the call sites; empty if there are none.
[[nodiscard]] std::string passed_through_note(const report_data& data);

/// Returns: the reason why there are no call sites; empty if there are some.
[[nodiscard]] std::string no_sites_note(bool has_stacks, std::uint64_t events);

/// Returns: a line about spans that do not nest; empty if all do.
[[nodiscard]] std::string span_note(const report_data& data);

inline constexpr std::size_t report_rows = 10;  ///< Of lists that would be endless.

/// The facts and tables of a trace, or of several merged, which outlive it.
struct report_source {
  std::string path;
  std::string program;
  std::string program_file;
  std::string warning;
  const trace::trace_info& info;
  const std::vector<trace::mapped_module>& modules;
  const trace::stack_table& stacks;
  const trace::name_table& names;
};

/// A stack, innermost call first; empty if it is unknown.
struct program_stack {
  std::vector<const source_place*> calls;
  std::string through;  ///< The wrapper or C library function that the first one calls; empty: none.
  const study::site_summary* sum = nullptr;

  /// Effects: leaves out the calls before the program's own. Expects: the wrappers are decided.
  void begin_at_program(wrapper_finder& wrappers);
};

/// Returns: all stacks of the summary, which outlives them, as the names do. Effects: adds them to those that wrappers
/// are found by.
[[nodiscard]] std::vector<program_stack> whole_stacks(const study::trace_summary& summary,
                                                      const trace::stack_table& stacks,
                                                      std::span<const trace::mapped_module> modules, symboliser& names,
                                                      wrapper_finder& wrappers);

/// Returns: the place with all template arguments, which tell sites apart, however long they are.
[[nodiscard]] std::string place_title(const source_place& place);

/// Effects: adds one site to another.
void add_site(study::site_summary& sum, const study::site_summary& more);

/// Returns: the summary of all events. Effects: looks up the names of call sites meanwhile.
[[nodiscard]] study::trace_summary named_summary(trace_input& input, symboliser& names);

/// Effects: looks up the names of call sites, which may take a second.
[[nodiscard]] report_data make_report(const report_source& input, study::trace_summary summary, symboliser& names);
[[nodiscard]] report_data make_report(const trace_input& input, study::trace_summary summary, symboliser& names);

/// Returns: the summary as text of 100 columns, and as JSON.
[[nodiscard]] std::string report_text(const report_data& data);
[[nodiscard]] nlohmann::json report_json(const report_data& data);

}  // namespace ashlar::cli
