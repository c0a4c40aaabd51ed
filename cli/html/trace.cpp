// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The section of a report about the trace: live bytes, sizes, lifetimes, threads, call sites.
#include <fmt/format.h>

#include "cli/html/charts.hpp"
#include "cli/html/page.hpp"
#include "cli/html/report.hpp"
#include "cli/html/svg.hpp"
#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

double by_count(const histogram_row& row) { return static_cast<double>(row.count); }
double by_bytes(const histogram_row& row) { return row.bytes; }

std::string pair(const std::string& a, const std::string& b) { return "<div class=\"pair\">\n" + a + b + "</div>\n"; }

std::string sizes(const report_data& data) {
  std::string common;
  const auto total = static_cast<double>(data.sum.allocated.objects);
  for (std::size_t i = 0; i < data.common_sizes.size() && i < 4; ++i)
    common += fmt::format("{}{} B ({})", i == 0 ? "Most common: " : ", ", data.common_sizes[i].least,
                          percent(static_cast<double>(data.common_sizes[i].count), total));
  return pair(html_figure("Sizes, by objects", common,
                          column_chart("sizes by objects", "requested size", quantity::bytes, "objects",
                                       quantity::count, data.sizes, by_count)),
              html_figure("Sizes, by bytes", "The same objects, weighted by their bytes.",
                          column_chart("sizes by bytes", "requested size", quantity::bytes, "requested bytes",
                                       quantity::bytes, data.sizes, by_bytes)));
}

std::string lifetimes(const report_data& data) {
  return pair(html_figure("Lifetimes, in time", "From allocation to free. Objects that were never freed are left out.",
                          column_chart("lifetimes in time", "time from allocation to free", quantity::time_ns,
                                       "objects", quantity::count, data.lifetimes_ns, by_count)),
              html_figure("Lifetimes, in bytes", "Bytes that any thread allocated in between.",
                          column_chart("lifetimes in bytes", "bytes allocated between allocation and free",
                                       quantity::bytes, "objects", quantity::count, data.lifetimes_bytes, by_count)));
}

std::string threads(const report_data& data) {
  std::vector<std::vector<std::string>> rows;
  for (const thread_row& t : data.threads)
    rows.push_back({escaped(t.title()), human_time(static_cast<double>(t.sum.first_ns)),
                    human_time(static_cast<double>(t.sum.last_ns)), grouped(t.sum.allocations),
                    human_bytes(static_cast<double>(t.sum.bytes)), grouped(t.sum.frees), grouped(t.sum.freed_remote)});
  return "<h3>Threads</h3>\n" +
         html_table({"thread", "from", "to", "allocations", "bytes", "frees", "freed by others"}, rows, 1);
}

std::string spans(const report_data& data) {
  std::vector<std::vector<std::string>> rows;
  for (const span_row& each : data.spans) {
    const study::span_summary& s = each.sum;
    const auto time = [&](double q) { return human_time(static_cast<double>(s.durations_ns.quantile(q))); };
    rows.push_back({escaped(each.name), grouped(s.count()), time(0.5), time(0.99), time(0.999), grouped(s.allocations),
                    grouped(s.most_allocations), human_bytes(static_cast<double>(s.most_peak_bytes))});
  }
  const std::string note = span_note(data);
  return "<h3>Spans</h3>\n" +
         html_table({"span", "times", "p50", "p99", "p99.9", "allocations", "most in one", "most bytes at once"}, rows,
                    1) +
         (note.empty() ? "" : fmt::format("<p class=\"notes\">{}</p>\n", note));
}

std::string sites(const std::string& title, const std::vector<call_site>& list, bool live) {
  if (list.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const call_site& site : list) {
    std::string calls;
    for (std::size_t i = 0; i < site.calls.size(); ++i)
      calls += fmt::format("<code>{}{}</code>", i == 0 ? "" : "← ", escaped(site.calls[i]));
    const study::amount& a = live ? site.live : site.allocated;
    rows.push_back({calls, grouped(a.objects), human_bytes(static_cast<double>(a.bytes)),
                    site.mean_lifetime_ns == 0 ? "–" : human_time(site.mean_lifetime_ns)});
  }
  return fmt::format("<h3>{}</h3>\n", escaped(title)) +
         html_table({"call site", "objects", "bytes", "mean life"}, rows, 1);
}

}  // namespace

std::string html_trace_section(const report_data& data) {
  const study::trace_summary& s = data.sum;
  const std::string peak =
      fmt::format("Bytes that the program had requested and not yet freed. Peak {} after {}.",
                  human_bytes(static_cast<double>(s.peak.bytes)), human_time(static_cast<double>(s.peak_ns)));
  std::string out = "<h2>What the program allocates</h2>\n";
  out += html_figure("Live bytes", peak,
                     area_chart("live bytes over time", s.live_bytes, static_cast<double>(s.duration_ns)));
  out += sizes(data) + lifetimes(data);
  if (data.thread_count > 1) out += threads(data);
  if (!data.spans.empty()) out += spans(data);
  if (!data.passed_through.empty())
    out += fmt::format("<p class=\"notes\">{}</p>\n", escaped(passed_through_note(data)));
  out += sites("Call sites by objects", data.by_count, false) + sites("Call sites by bytes", data.by_bytes, false) +
         sites("Call sites of objects never freed", data.by_live, true);
  if (!data.has_stacks) out += fmt::format("<p class=\"notes\">{}</p>\n", escaped(no_sites_note(data)));
  return out;
}

}  // namespace ashlar::cli
