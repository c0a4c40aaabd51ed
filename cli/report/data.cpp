// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sorts, names and cuts the contents of a summary.
#include "cli/report/data.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "cli/support/function_names.hpp"
#include "cli/support/symbolise.hpp"
#include "cli/support/table_units.hpp"
#include "cli/support/wrappers.hpp"

namespace ashlar::cli {

namespace {

template <class Histogram>
std::vector<histogram_row> rows_of(const Histogram& h, std::vector<std::uint64_t> boundaries) {
  row_builder rows(std::move(boundaries));
  h.for_each([&](std::uint64_t least, std::uint64_t greatest, std::uint64_t n) {
    rows.add(least + (greatest - least) / 2, n);
  });
  return rows.rows();
}

std::vector<histogram_row> size_rows(const study::size_table& sizes) {
  row_builder rows(binary_boundaries());
  for (const auto& size : sizes.rows()) rows.add(size.least, size.sum.objects, static_cast<double>(size.sum.bytes));
  return rows.rows();
}

std::vector<histogram_row> common_sizes(const study::size_table& sizes) {
  std::vector<histogram_row> rows;
  for (const auto& size : sizes.rows())
    rows.push_back({size.least, size.greatest, size.sum.objects, static_cast<double>(size.sum.bytes)});
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return std::pair(b.count, a.least) < std::pair(a.count, b.least); });
  rows.resize(std::min(rows.size(), report_rows));
  return rows;
}

std::vector<thread_row> busiest(const std::map<std::uint32_t, study::thread_summary>& threads,
                                const trace::name_table& names) {
  std::vector<thread_row> rows;
  for (const auto& [id, sum] : threads) rows.push_back({id, sum, std::string(names[sum.name])});
  const auto work = [](const thread_row& t) { return t.sum.allocations + t.sum.frees; };
  std::sort(rows.begin(), rows.end(),
            [&](const auto& a, const auto& b) { return std::pair(work(b), a.id) < std::pair(work(a), b.id); });
  rows.resize(std::min(rows.size(), report_rows));
  return rows;
}

std::vector<span_row> spans_by_name(const study::span_table& spans, const trace::name_table& names) {
  std::vector<span_row> rows;
  for (const auto& [id, sum] : spans.by_name) rows.push_back({id == 0 ? "(no name)" : std::string(names[id]), sum});
  std::sort(rows.begin(), rows.end(), [](const span_row& a, const span_row& b) { return a.name < b.name; });
  return rows;
}

constexpr std::size_t max_calls_listed = 5;

/// A call stack with its names, and its allocations.
struct named_stack {
  std::vector<std::string> calls;
  std::string through;
  study::site_summary sum;
};

/// Template arguments tell sites apart, however long they are.
std::string name_of(const source_place& place) {
  if (place.function.find("<…>") == std::string::npos) return place.str();
  source_place whole = place;
  whole.function = long_function_name(place.whole);
  return whole.str();
}

std::vector<named_stack> named_stacks(const report_data& data, const trace_input& input, symboliser& names) {
  std::vector<std::vector<const source_place*>> calls;
  wrapper_finder wrappers;
  for (const auto& [id, sum] : data.sum.sites) {
    calls.push_back(names.calls(input.stacks()[id], input.modules()));
    wrappers.add(calls.back(), sum.allocated);
  }
  wrappers.decide();
  std::vector<named_stack> all;
  auto next = calls.begin();
  for (const auto& [id, sum] : data.sum.sites) {
    const std::vector<const source_place*>& own = *next++;
    const program_call first = wrappers.call_in(own);
    named_stack stack{{}, {}, sum};
    if (!first.through.empty()) stack.through = first.through.back()->function;
    for (const source_place* place : std::span(own).subspan(first.at == own.size() ? 0 : first.at))
      stack.calls.push_back(name_of(*place));
    if (stack.calls.empty()) stack.calls.emplace_back("(no stack)");
    all.push_back(std::move(stack));
  }
  return all;
}

/// Returns: the innermost call of most objects, if many places make it, so that it is uninformative; else "".
std::string common_call(const std::vector<named_stack>& stacks) {
  struct use {
    std::uint64_t objects = 0;
    std::set<std::vector<std::string>> callers;
  };
  std::map<std::string, use> uses;
  std::uint64_t total = 0;
  for (const named_stack& stack : stacks) {
    use& u = uses[stack.calls.front()];
    total += stack.sum.allocated.objects;
    u.objects += stack.sum.allocated.objects;
    u.callers.emplace(stack.calls.begin() + 1, stack.calls.end());
  }
  for (const auto& [call, u] : uses)
    if (u.objects > total / 10 * 6 && u.callers.size() >= 3 && !u.callers.contains({})) return call;
  return "";
}

/// Returns: the program's own allocation functions, innermost first. Effects: removes them from the stacks.
std::vector<std::string> take_common_calls(std::vector<named_stack>& stacks) {
  std::vector<std::string> taken;
  for (std::string call = common_call(stacks); !call.empty() && taken.size() < 4; call = common_call(stacks)) {
    for (named_stack& stack : stacks)
      if (stack.calls.front() == call) stack.calls.erase(stack.calls.begin());
    taken.push_back(call);
  }
  return taken;
}

/// Returns: one call site for all stacks with the same first calls.
std::vector<call_site> merged(const std::vector<named_stack>& stacks) {
  std::map<std::pair<std::vector<std::string>, std::string>, call_site> sites;
  for (const named_stack& stack : stacks) {
    std::vector<std::string> calls = stack.calls;
    if (calls.size() > max_calls_listed) calls.erase(calls.begin() + max_calls_listed, calls.end());
    call_site& site = sites[{calls, stack.through}];
    site.calls = std::move(calls);
    site.through = stack.through;
    site.allocated += stack.sum.allocated;
    site.live += stack.sum.live;
    site.mean_lifetime_ns += stack.sum.lifetime_ns;  // the sum until now
  }
  std::vector<call_site> all;
  for (auto& [calls, site] : sites) {
    const std::uint64_t freed = site.allocated.objects - site.live.objects;
    if (freed != 0) site.mean_lifetime_ns /= static_cast<double>(freed);
    all.push_back(std::move(site));
  }
  return all;
}

/// Returns: the sites with the greatest `weight`, and not 0.
template <class Weight>
std::vector<call_site> heaviest(std::vector<call_site> sites, Weight weight) {
  std::erase_if(sites, [&](const call_site& s) { return weight(s) == 0; });
  std::sort(sites.begin(), sites.end(), [&](const auto& a, const auto& b) {
    return std::tuple(weight(b), a.calls, a.through) < std::tuple(weight(a), b.calls, b.through);
  });
  if (sites.size() > report_rows) sites.erase(sites.begin() + report_rows, sites.end());
  return sites;
}

/// Effects: fills the lists of call sites in `data`.
void add_call_sites(report_data& data, const trace_input& input) {
  symboliser names;
  std::vector<named_stack> stacks = named_stacks(data, input, names);
  data.notes = names.notes();
  data.passed_through = take_common_calls(stacks);
  const std::vector<call_site> all = merged(stacks);
  data.site_count = all.size();
  data.by_count = heaviest(all, [](const call_site& s) { return s.allocated.objects; });
  data.by_bytes = heaviest(all, [](const call_site& s) { return s.allocated.bytes; });
  data.by_live = heaviest(all, [](const call_site& s) { return s.live.bytes; });
  std::set<std::string> unnamed;
  for (const auto* const sites : {&data.by_count, &data.by_bytes, &data.by_live})
    for (const call_site& site : *sites)
      if (const std::size_t offset = site.calls.front().rfind("+0x"); offset != std::string::npos)
        unnamed.insert(site.calls.front().substr(0, offset));
  if (std::string note = unnamed_note(unnamed); !note.empty()) data.notes.push_back(std::move(note));
}

}  // namespace

std::string span_note(const report_data& data) {
  std::uint64_t unended = 0;
  for (const span_row& each : data.spans) unended += each.sum.unended;
  const std::uint64_t unmatched = data.sum.spans.unmatched_ends;
  if (unended == 0 && unmatched == 0) return "";
  return "Left out: " + counted(unended, "span that has not ended", "spans that have not ended") + ", " +
         counted(unmatched, "end") + " without a beginning.";
}

std::string passed_through_note(const report_data& data) {
  if (data.passed_through.empty()) return "";
  std::string calls;
  for (const std::string& call : data.passed_through) calls += (calls.empty() ? "" : " ← ") + call;
  return "Most requests pass through " + calls + ", left out of the call sites.";
}

std::string no_sites_note(const report_data& data) {
  if (data.has_stacks) return "";
  if (data.events == 0) return "No call sites: nothing was recorded.";
  return "No call sites: the trace has no stacks (ashlar record --stacks 0, or no stack could be unwound).";
}

report_data make_report(const trace_input& input, study::trace_summary summary) {
  report_data data;
  data.path = input.path();
  data.program = input.program();
  data.warning = damage_note(input.info());
  data.resident_peak_bytes = input.info().resident_peak_bytes;
  data.anonymous_peak_bytes = input.info().anonymous_peak_bytes;
  data.own = find_own_allocator({summary.peak, data.anonymous_peak_bytes}, input.program_file(), input.modules());
  data.file_bytes = input.info().file_bytes;
  data.has_stacks = input.stacks().size() != 0;
  data.sum = std::move(summary);
  data.events = std::accumulate(data.sum.operations.begin(), data.sum.operations.end(), std::uint64_t{0});
  data.sizes = size_rows(data.sum.sizes);
  data.common_sizes = common_sizes(data.sum.sizes);
  data.lifetimes_ns = rows_of(data.sum.lifetimes_ns, decimal_boundaries());
  data.lifetimes_bytes = rows_of(data.sum.lifetimes_bytes, binary_boundaries());
  data.threads = busiest(data.sum.threads, input.names());
  data.spans = spans_by_name(data.sum.spans, input.names());
  data.thread_count = data.sum.threads.size();
  if (data.has_stacks) add_call_sites(data, input);
  return data;
}

std::vector<std::uint64_t> binary_boundaries(std::uint64_t factor) {
  std::vector<std::uint64_t> all = {0};
  for (std::uint64_t b = 1; b < std::uint64_t{1} << 62; b *= factor) all.push_back(b);
  return all;
}

std::vector<std::uint64_t> decimal_boundaries(bool decades) {
  std::vector<std::uint64_t> all = {0};
  for (std::uint64_t b = 1; b < 1'000'000'000'000'000'000u; b *= 10) {
    all.push_back(b);
    if (!decades) all.insert(all.end(), {2 * b, 5 * b});
  }
  return all;
}

void row_builder::add(std::uint64_t value, std::uint64_t count, double bytes) {
  const auto above = std::upper_bound(boundaries_.begin(), boundaries_.end(), value);
  const auto index = static_cast<std::size_t>(above - boundaries_.begin()) - 1;
  const auto [it, is_new] = rows_.try_emplace(index, empty_row(index));
  it->second.count += count;
  it->second.bytes += bytes;
}

histogram_row row_builder::empty_row(std::size_t index) const {
  const bool last = index + 1 == boundaries_.size();
  return {boundaries_[index], last ? std::numeric_limits<std::uint64_t>::max() : boundaries_[index + 1] - 1, 0, 0};
}

std::vector<histogram_row> row_builder::rows() const {
  std::vector<histogram_row> all;
  if (rows_.empty()) return all;
  for (std::size_t i = rows_.begin()->first; i <= rows_.rbegin()->first; ++i) {
    const auto found = rows_.find(i);
    all.push_back(found == rows_.end() ? empty_row(i) : found->second);
  }
  return all;
}

}  // namespace ashlar::cli
