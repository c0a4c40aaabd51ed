// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sections of a report: the verdict, the replay with its table and plots, and what the trace holds.
#include "cli/html/report.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "cli/html/charts.hpp"
#include "cli/html/page.hpp"
#include "cli/html/svg.hpp"
#include "cli/replay/verdict.hpp"
#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

std::string style_of(const candidate_figures& row) {
  if (!row.is_allocator()) return "none";
  if (row.stand != replay_stand::system) return "own";
  return row.name == "glibc" ? "baseline" : "rival";
}

std::string name_of(const candidate_figures& row) {
  return row.stand == replay_stand::null ? "null (replay loop)" : row.name;
}

/// Returns: the measured candidates, the fastest first, the null allocator last.
std::vector<const candidate_figures*> ranked(const replay_figures& figures) {
  std::vector<const candidate_figures*> rows;
  for (const candidate_figures& row : figures.rows)
    if (row.competes() || (row.measured() && row.stand == replay_stand::null)) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
    return std::tuple(!a->competes(), a->ns_per_op.median, a->name) <
           std::tuple(!b->competes(), b->ns_per_op.median, b->name);
  });
  return rows;
}

std::string latency(const spread& s, const candidate_figures& row) {
  if (s.median < row.timer_step_ns) return fmt::format("&lt; {:.0f}", row.timer_step_ns);
  return fmt::format("{:.0f}", s.median);
}

std::vector<std::string> cells(const candidate_figures& row, const replay_figures& figures,
                               const replayed_trace& replayed) {
  const bool compares = row.competes() && figures.baseline != nullptr;
  return {escaped(name_of(row)),
          figures3(row.ns_per_op.median),
          figures3(row.ns_per_op.least) + "–" + figures3(row.ns_per_op.greatest),
          figures3(row.cpu_ns_per_op.median),
          latency(row.calls.p50, row),
          latency(row.calls.p99, row),
          latency(row.calls.p999, row),
          human_time(row.calls.max.median),
          human_bytes(row.peak_bytes.median),
          compares ? per_live_byte(row.peak_bytes, replayed) : "",
          compares ? human_bytes(row.end_bytes.median) : "",
          compares ? human_bytes(row.held_bytes.median) : "",
          human_count(row.faults.median),
          figures3(row.user_ms.median),
          figures3(row.system_ms.median),
          compares ? fmt::format("{:.2f}×", row.ns_per_op.median / figures.baseline->ns_per_op.median) : ""};
}

std::string table(const std::vector<const candidate_figures*>& rows, const replay_figures& figures,
                  const replayed_trace& replayed) {
  const std::string baseline = figures.baseline == nullptr ? "" : "vs " + figures.baseline->name;
  std::vector<std::vector<std::string>> all;
  std::vector<std::string> styles;
  for (const candidate_figures* row : rows) {
    all.push_back(cells(*row, figures, replayed));
    styles.push_back(style_of(*row));
  }
  return html_table({"allocator", "ns/op", "spread", "cpu ns/op", "p50 ns", "p99 ns", "p99.9 ns", "max", "peak RSS",
                     "of live", "at end", "mapped", "faults", "user ms", "sys ms", baseline},
                    all, 1, styles);
}

std::string plots(const std::vector<const candidate_figures*>& rows) {
  std::vector<bar_row> times, memory;
  std::vector<tail_row> tails;
  double step = 0;
  for (const candidate_figures* row : rows) {
    step = std::max(step, row->timer_step_ns);
    times.push_back({name_of(*row), style_of(*row), row->ns_per_op});
    if (!row->competes()) continue;
    memory.push_back({row->name, style_of(*row), row->peak_bytes});
    tails.push_back({row->name, style_of(*row), row->calls});
  }
  return html_figure("Time of an operation",
                     "Mean time of an allocation or a free, touching the memory included: processor time of "
                     "one thread, wall time of several; bars are "
                     "medians of the repetitions, whiskers their least and greatest. Shorter is better.",
                     bar_chart("time of an operation", "nanoseconds an operation", quantity::ratio, times)) +
         html_figure("Tail latency", "The calls alone, timed one by one in repetitions of their own; medians of those.",
                     tail_chart(tails, step)) +
         html_figure("Memory", "Peak resident memory above what was resident before the replay. Shorter is better.",
                     bar_chart("peak memory", "peak RSS", quantity::bytes, memory));
}

std::string replay_section(const replay_figures& figures, const replayed_trace& replayed) {
  const auto rows = ranked(figures);
  std::string out = fmt::format("<h2>Replay</h2>\n<p>{}</p>\n", escaped(replay_headline(replayed)));
  out += table(rows, figures, replayed) + plots(rows) + "<ul class=\"notes\">\n";
  for (const candidate_figures& row : figures.rows)
    if (!row.measured()) out += fmt::format("<li>{}: {}</li>\n", escaped(row.name), escaped(row.failure));
  for (const std::string& note : replay_notes(figures, replayed)) out += fmt::format("<li>{}</li>\n", escaped(note));
  return out + "</ul>\n";
}

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

std::string trace_section(const report_data& data) {
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

std::string verdict(const replay_figures& figures, const replayed_trace& replayed) {
  const std::string meaning = replay_meaning(figures, replayed);
  std::string out = fmt::format("<div class=\"verdict\"><p>{}</p>", escaped(replay_verdict(figures)));
  if (!meaning.empty()) out += fmt::format("<p>{}</p>", escaped(meaning));
  out += fmt::format("<p>{}</p><ul class=\"notes\">", escaped(replay_findings_heading(figures)));
  for (const std::string& line : replay_findings(figures)) out += fmt::format("<li>{}</li>", escaped(line));
  out += "</ul>";
  return out + "</div>\n";
}

std::vector<fact_tile> tiles(const report_data& data) {
  const study::trace_summary& s = data.sum;
  const auto bytes = [](std::uint64_t n) { return human_bytes(static_cast<double>(n)); };
  return {{"recorded", human_time(static_cast<double>(s.duration_ns)), counted(data.events, "event")},
          {"allocated", bytes(s.allocated.bytes), counted(s.allocated.objects, "object")},
          {"peak", bytes(s.peak.bytes), counted(s.peak.objects, "object live", "objects live")},
          {"never freed", bytes(s.live.bytes), counted(s.live.objects, "object")},
          {"threads", grouped(data.thread_count), counted(s.cross_thread, "free across", "frees across")},
          {"failed calls", grouped(s.failed), "returned null"}};
}

}  // namespace

std::string html_report(const replay_figures* figures, const replayed_trace* replayed, const report_data& data) {
  const std::string name = data.program.empty() ? data.path : data.program;
  std::string body = fmt::format(
      "<header><p>{}</p><h1>{}</h1></header>\n",
      figures == nullptr ? "What this program allocates" : "Which allocator serves this program best", escaped(name));
  if (!data.warning.empty()) body += fmt::format("<p>{}</p>\n", escaped(data.warning));
  for (const std::string& note : data.notes) body += fmt::format("<p>{}</p>\n", escaped(note));
  if (figures != nullptr) body += verdict(*figures, *replayed);
  body += html_tiles(tiles(data));
  if (figures != nullptr) body += replay_section(*figures, *replayed);
  body += trace_section(data);
  return html_page("ashlar: " + name, body);
}

}  // namespace ashlar::cli
