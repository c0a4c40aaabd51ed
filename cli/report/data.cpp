// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sorts, names and cuts the contents of a summary.
#include "cli/report/data.hpp"

#include <algorithm>
#include <future>
#include <limits>
#include <numeric>

#include <ashlar/study/summariser.hpp>

#include "cli/support/function_names.hpp"
#include "cli/support/terminal.hpp"
#include "cli/support/text.hpp"

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

/// Texts by number, equal ones once: stacks have many calls, of few places.
class call_texts {
public:
  /// Returns: the number of the name of a place, which outlives this.
  std::uint32_t number_of(const source_place& place) {
    const auto [at, is_new] = by_place_.try_emplace(&place, 0);
    if (is_new) at->second = number_of(place_title(place));
    return at->second;
  }
  std::uint32_t number_of(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(&at->first);
    return at->second;
  }

  [[nodiscard]] std::size_t size() const noexcept { return texts_.size(); }
  [[nodiscard]] const std::string& operator[](std::uint32_t number) const { return *texts_[number]; }

private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> texts_;
  std::unordered_map<const source_place*, std::uint32_t> by_place_;
};

/// A call stack by the numbers of its texts, and its allocations; or all stacks that begin with these calls.
struct numbered_stack {
  std::vector<std::uint32_t> calls;
  std::uint32_t through = 0;
  study::site_summary sum;
};

std::vector<numbered_stack> numbered_stacks(const report_data& data, const report_source& input, symboliser& names,
                                            call_texts& texts) {
  const std::uint32_t no_stack = texts.number_of("(no stack)");
  std::vector<numbered_stack> all;
  wrapper_finder wrappers;
  std::vector<program_stack> stacks = whole_stacks(data.sum, input.stacks, input.modules, names, wrappers);
  wrappers.decide();
  for (program_stack& each : stacks) {
    each.begin_at_program(wrappers);
    numbered_stack stack{{}, texts.number_of(each.through), *each.sum};
    for (const source_place* place : each.calls) stack.calls.push_back(texts.number_of(*place));
    if (stack.calls.empty()) stack.calls.push_back(no_stack);
    all.push_back(std::move(stack));
  }
  return all;
}

/// Returns: the innermost call of most objects, if many places make it, so that it is uninformative; else nothing.
std::optional<std::uint32_t> common_call(const std::vector<numbered_stack>& stacks, const call_texts& texts) {
  std::vector<std::uint64_t> objects(texts.size());
  std::uint64_t total = 0;
  for (const numbered_stack& stack : stacks) {
    objects[stack.calls.front()] += stack.sum.allocated.objects;
    total += stack.sum.allocated.objects;
  }
  const auto most = std::ranges::max_element(objects);
  if (*most <= total / 10 * 6) return std::nullopt;
  const auto call = static_cast<std::uint32_t>(most - objects.begin());
  std::set<std::vector<std::uint32_t>> callers;
  for (const numbered_stack& stack : stacks)
    if (stack.calls.front() == call) callers.emplace(stack.calls.begin() + 1, stack.calls.end());
  return callers.size() >= 3 && !callers.contains({}) ? std::optional(call) : std::nullopt;
}

/// Returns: the program's own allocation functions, innermost first. Effects: removes them from the stacks.
std::vector<std::string> take_common_calls(std::vector<numbered_stack>& stacks, const call_texts& texts) {
  std::vector<std::string> taken;
  for (auto call = common_call(stacks, texts); call && taken.size() < 4; call = common_call(stacks, texts)) {
    for (numbered_stack& stack : stacks)
      if (stack.calls.front() == *call) stack.calls.erase(stack.calls.begin());
    taken.push_back(texts[*call]);
  }
  return taken;
}

/// Returns: one for all stacks with the same first calls.
std::vector<numbered_stack> merged(const std::vector<numbered_stack>& stacks) {
  std::map<std::pair<std::vector<std::uint32_t>, std::uint32_t>, study::site_summary> sites;
  for (const numbered_stack& stack : stacks) {
    const auto listed = std::span(stack.calls).first(std::min(stack.calls.size(), max_calls_listed));
    add_site(sites[{{listed.begin(), listed.end()}, stack.through}], stack.sum);
  }
  std::vector<numbered_stack> all;
  for (const auto& [calls, sum] : sites) all.push_back({calls.first, calls.second, sum});
  return all;
}

call_site site_of(const numbered_stack& stack, const call_texts& texts) {
  const study::site_summary& sum = stack.sum;
  call_site site{{}, texts[stack.through], sum.allocated, sum.live, 0};
  for (const std::uint32_t call : stack.calls) site.calls.push_back(texts[call]);
  const std::uint64_t freed = sum.allocated.objects - sum.live.objects;
  if (freed != 0) site.mean_lifetime_ns = sum.lifetime_ns / static_cast<double>(freed);
  return site;
}

/// Returns: the sites with the greatest `weight`, and not 0. Of equal ones the first by their texts.
template <class Weight>
std::vector<call_site> heaviest(const std::vector<numbered_stack>& all, const call_texts& texts, Weight weight) {
  std::vector<const numbered_stack*> kept;
  for (const numbered_stack& each : all)
    if (weight(each.sum) != 0) kept.push_back(&each);
  const auto text = [&](std::uint32_t number) -> const std::string& { return texts[number]; };
  const auto last = kept.begin() + static_cast<std::ptrdiff_t>(std::min(kept.size(), report_rows));
  std::partial_sort(kept.begin(), last, kept.end(), [&](const numbered_stack* a, const numbered_stack* b) {
    if (weight(a->sum) != weight(b->sum)) return weight(a->sum) > weight(b->sum);
    if (a->calls == b->calls) return texts[a->through] < texts[b->through];
    return std::ranges::lexicographical_compare(a->calls, b->calls, {}, text, text);
  });
  std::vector<call_site> sites;
  for (auto each = kept.begin(); each != last; ++each) sites.push_back(site_of(**each, texts));
  return sites;
}

/// Effects: fills the lists of call sites in `data`.
void add_call_sites(report_data& data, const report_source& input, symboliser& names) {
  call_texts texts;
  std::vector<numbered_stack> stacks = numbered_stacks(data, input, names, texts);
  data.notes = names.notes();
  data.passed_through = take_common_calls(stacks, texts);
  const std::vector<numbered_stack> all = merged(stacks);
  data.site_count = all.size();
  data.by_count = heaviest(all, texts, [](const study::site_summary& s) { return s.allocated.objects; });
  data.by_bytes = heaviest(all, texts, [](const study::site_summary& s) { return s.allocated.bytes; });
  data.by_live = heaviest(all, texts, [](const study::site_summary& s) { return s.live.bytes; });
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

std::string no_sites_note(bool has_stacks, std::uint64_t events) {
  if (has_stacks) return "";
  if (events == 0) return "No call sites: nothing was recorded.";
  return "No call sites: the trace has no stacks (ashlar record --stacks 0, or no stack could be unwound).";
}

void add_site(study::site_summary& sum, const study::site_summary& more) {
  sum.allocated += more.allocated;
  sum.live += more.live;
  sum.lifetime_ns += more.lifetime_ns;
}

std::string place_title(const source_place& place) {
  if (place.function.find("<…>") == std::string::npos) return place.str();
  source_place whole = place;
  whole.function = long_function_name(place.whole);
  return whole.str();
}

std::vector<program_stack> whole_stacks(const study::trace_summary& summary, const trace::stack_table& stacks,
                                        std::span<const trace::mapped_module> modules, symboliser& names,
                                        wrapper_finder& wrappers) {
  std::vector<program_stack> all;
  for (const auto& [id, sum] : summary.sites) {
    all.push_back({names.calls(stacks[id], modules), "", &sum});
    wrappers.add(all.back().calls, sum.allocated);
  }
  return all;
}

void program_stack::begin_at_program(wrapper_finder& wrappers) {
  const program_call first = wrappers.call_in(calls);
  if (!first.through.empty()) through = first.through.back()->function;
  if (first.at != calls.size()) calls.erase(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(first.at));
}

study::trace_summary named_summary(trace_input& input, symboliser& names) {
  // Names take as long as the events of a short trace, and wait for none of them.
  std::future<void> named = std::async(std::launch::async, [&] { names.look_up(input.stacks(), input.modules()); });
  study::trace_summary summary = study::summarise(input);
  show_progress("reading the names of functions");
  named.get();
  return summary;
}

report_data make_report(const trace_input& input, study::trace_summary summary, symboliser& names) {
  return make_report({input.path(), input.program(), input.program_file(), damage_note(input.info()), input.info(),
                      input.modules(), input.stacks(), input.names()},
                     std::move(summary), names);
}

report_data make_report(const report_source& input, study::trace_summary summary, symboliser& names) {
  report_data data;
  data.path = input.path;
  data.program = input.program;
  data.warning = input.warning;
  data.resident_peak_bytes = input.info.resident_peak_bytes;
  data.anonymous_peak_bytes = input.info.anonymous_peak_bytes;
  data.own = find_own_allocator({summary.peak, data.anonymous_peak_bytes}, input.program_file, input.modules);
  data.file_bytes = input.info.file_bytes;
  data.has_stacks = input.stacks.size() != 0;
  data.sum = std::move(summary);
  data.events = std::accumulate(data.sum.operations.begin(), data.sum.operations.end(), std::uint64_t{0});
  data.sizes = size_rows(data.sum.sizes);
  data.common_sizes = common_sizes(data.sum.sizes);
  data.lifetimes_ns = rows_of(data.sum.lifetimes_ns, decimal_boundaries());
  data.lifetimes_bytes = rows_of(data.sum.lifetimes_bytes, binary_boundaries());
  data.threads = busiest(data.sum.threads, input.names);
  data.spans = spans_by_name(data.sum.spans, input.names);
  data.thread_count = data.sum.threads.size();
  if (data.has_stacks) add_call_sites(data, input, names);
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
