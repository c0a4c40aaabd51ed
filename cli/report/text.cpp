// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The summary of a trace for people and as JSON.
#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <sstream>

#include <fmt/format.h>

#include "cli/report/data.hpp"
#include "cli/support/output.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t bar_width = 36;

/// Returns: the text of a quantity without zeros behind the point: "0", "2.5 MiB", "10 µs".
std::string trimmed(std::string text) {
  const std::size_t unit = std::min(text.find(' '), text.size());
  if (text[0] == '0' && unit == 1) return "0";
  if (text.find('.') > unit) return text;
  std::size_t end = text.find_last_not_of('0', unit - 1) + 1;
  if (text[end - 1] == '.') --end;
  return text.erase(end, unit - end);
}
std::string axis_time(double ns) { return trimmed(human_time(ns)); }
std::string axis_bytes(double bytes) { return trimmed(human_bytes(bytes)); }

std::string heading(const std::string& title) { return fmt::format("\n{}\n", title); }

std::string amount_text(const study::amount& a) { return in_bytes(a.bytes) + " in " + counted(a.objects, "object"); }

std::string calls_text(const report_data& data) {
  std::string text;
  for (std::size_t i = 0; i < data.sum.operations.size(); ++i) {
    if (data.sum.operations[i] == 0) continue;
    const auto name = trace::name(static_cast<trace::operation>(i));
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, in_words(data.sum.operations[i]));
  }
  return text.empty() ? "none" : text;
}

std::string facts(const report_data& data) {
  const study::trace_summary& s = data.sum;
  const auto time = [](std::uint64_t ns) { return human_time(static_cast<double>(ns)); };
  std::string text;
  const auto fact = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<15}{}\n", name, value);
  };
  fact("recorded",
       fmt::format("{}, {} in {}", time(s.duration_ns), counted(data.events, "event"), in_bytes(data.file_bytes)));
  fact("calls", calls_text(data));
  fact("allocated", amount_text(s.allocated));
  fact("peak", fmt::format("{}, after {}", amount_text(s.peak), time(s.peak_ns)));
  fact("resident peak", data.resident_peak_bytes == 0
                            ? "unknown: the trace has no word of it"
                            : fmt::format("{}, {} of it no file's", in_bytes(data.resident_peak_bytes),
                                          in_bytes(data.anonymous_peak_bytes)));
  fact("never freed", amount_text(s.live));
  fact("failed", counted(s.failed, "call"));
  fact("freed", fmt::format("{}, {} ({}) by another thread than the allocating one", counted(s.frees, "object"),
                            grouped(s.cross_thread), part_of(s.cross_thread, s.frees)));
  if (s.unknown != 0)
    fact("", "and " + counted(s.unknown, "that was", "that were") + " allocated before the recording");
  return text;
}

std::string range_of(const histogram_row& row, const std::function<std::string(double)>& format) {
  const auto least = static_cast<double>(row.least), greatest = static_cast<double>(row.greatest);
  return row.least == row.greatest ? format(least) : fmt::format("{} – {}", format(least), format(greatest + 1));
}

/// Fewer rows than in a plot: wider boundaries, with the sums between them.
std::vector<histogram_row> coarser(const std::vector<histogram_row>& fine, std::vector<std::uint64_t> boundaries) {
  row_builder rows(std::move(boundaries));
  for (const histogram_row& row : fine)
    if (row.count != 0) rows.add(row.least, row.count, row.bytes);
  return rows.rows();
}

std::string histogram_text(const std::string& title, const std::vector<histogram_row>& rows,
                           const std::function<std::string(double)>& format, bool bytes) {
  if (rows.empty()) return "";
  double total = 0, most = 0, total_bytes = 0;
  for (const histogram_row& row : rows) {
    total += static_cast<double>(row.count);
    total_bytes += row.bytes;
    most = std::max(most, static_cast<double>(row.count));
  }
  std::vector<column> columns = {{title, side::left}, {"objects"}, {"share"}, {"", side::left}};
  if (bytes) columns.insert(columns.begin() + 3, {{"bytes"}, {"share"}});
  text_table table(columns);
  for (const histogram_row& row : rows) {
    const auto count = static_cast<double>(row.count);
    std::vector<std::string> cells = {range_of(row, format), human_count(count), percent(count, total),
                                      bar(count / most, bar_width)};
    if (bytes) cells.insert(cells.begin() + 3, {human_bytes(row.bytes), percent(row.bytes, total_bytes)});
    table.add(cells);
  }
  return "\n" + table.str();
}

std::string common_text(const report_data& data) {
  std::string text;
  const auto total = static_cast<double>(data.sum.allocated.objects);
  for (std::size_t i = 0; i < std::min<std::size_t>(data.common_sizes.size(), 6); ++i) {
    const histogram_row& row = data.common_sizes[i];
    text += fmt::format("{}{} B ({})", i == 0 ? "most common: " : ", ", row.least,
                        percent(static_cast<double>(row.count), total));
  }
  return paragraph(text);
}

/// Live bytes in columns of eight heights, the greatest of each interval.
std::string live_text(const report_data& data) {
  static constexpr std::array<const char*, 9> heights = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::size_t rows = 6;
  const auto points = data.sum.live_bytes.points();
  const auto peak = static_cast<double>(data.sum.peak.bytes);
  if (points.empty() || peak == 0) return "";
  const std::size_t columns = std::min<std::size_t>(points.size(), 84);
  std::vector<double> eighths(columns, 0);
  for (std::size_t i = 0; i < points.size(); ++i) {
    double& e = eighths[i * columns / points.size()];
    e = std::max(e, static_cast<double>(points[i].greatest) / peak * rows * 8);
  }
  std::string text = heading("live bytes over time");
  for (std::size_t row = rows; row-- > 0;) {
    text += fmt::format("{:>12} ", row + 1 == rows ? human_bytes(peak) : row == 0 ? "0 B" : "");
    for (const double e : eighths)
      text += heights[static_cast<std::size_t>(std::clamp(e - static_cast<double>(row) * 8 + 0.5, 0.0, 8.0))];
    text += '\n';
  }
  const std::string end = human_time(static_cast<double>(data.sum.duration_ns));
  return text + fmt::format("{:>13}{:<{}}{}\n", "0 ", "", columns > end.size() ? columns - end.size() : 0, end);
}

std::string threads_text(const report_data& data) {
  if (data.threads.empty()) return "";
  text_table table(
      {{"thread", side::left}, {"from"}, {"to"}, {"allocations"}, {"bytes"}, {"frees"}, {"freed by others"}});
  for (const thread_row& t : data.threads)
    table.add({t.title(), human_time(static_cast<double>(t.sum.first_ns)),
               human_time(static_cast<double>(t.sum.last_ns)), grouped(t.sum.allocations), in_bytes(t.sum.bytes),
               grouped(t.sum.frees), grouped(t.sum.freed_remote)});
  const std::size_t more = data.thread_count - data.threads.size();
  return "\n" + table.str() + (more == 0 ? "" : "and " + counted(more, "less active thread") + "\n");
}

std::string spans_text(const report_data& data) {
  if (data.spans.empty()) return "";
  text_table table(
      {{"span", side::left}, {"times"}, {"p50"}, {"p99"}, {"p99.9"}, {"allocations"}, {"most"}, {"bytes"}, {"peak"}});
  for (const span_row& each : data.spans) {
    const study::span_summary& s = each.sum;
    const auto time = [&](double q) { return human_time(static_cast<double>(s.durations_ns.quantile(q))); };
    const double count = s.count() == 0 ? 1 : static_cast<double>(s.count());
    table.add({shorten(each.name, 20), in_words(s.count()), time(0.5), time(0.99), time(0.999),
               figures3(static_cast<double>(s.allocations) / count), grouped(s.most_allocations),
               human_bytes(static_cast<double>(s.bytes) / count), in_bytes(s.most_peak_bytes)});
  }
  const std::string note = span_note(data);
  return "\n" + table.str() +
         "allocations and bytes: the mean of a span; most and peak: the greatest of a single one\n" +
         (note.empty() ? "" : note + "\n");
}

constexpr std::size_t site_width = page_width - 36;

void add_lines(std::vector<std::string>& lines, const std::string& text, std::size_t most) {
  std::istringstream in(wrapped(text, site_width - 4, ""));
  for (std::string line; most != 0 && std::getline(in, line); --most)
    lines.push_back((lines.empty() ? "" : "  ") + shorten(line, site_width - 2));
}

/// The request, and its callers: in two lines at most without their places, or as a whole.
std::vector<std::string> site_lines(const call_site& site, bool is_whole) {
  std::string callers = site.through.empty() ? "" : "through " + site.through;
  for (std::size_t i = 1; i < site.calls.size(); ++i) {
    const std::string& call = site.calls[i];
    callers += " ← " + (is_whole ? call : call.substr(0, call.rfind(" (")));
  }
  std::vector<std::string> lines;
  add_lines(lines, site.calls.front(), is_whole ? site.calls.front().size() : 2);
  add_lines(lines, callers, is_whole ? callers.size() : 2);
  return lines;
}

/// Sites that would read alike are shown as a whole.
std::vector<std::vector<std::string>> lines_of(const std::vector<call_site>& sites) {
  std::vector<std::vector<std::string>> all;
  for (const call_site& site : sites) all.push_back(site_lines(site, false));
  const auto brief = all;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (std::ranges::count(brief, brief[i]) > 1) all[i] = site_lines(sites[i], true);
  return all;
}

std::string sites_text(const std::string& title, const std::vector<call_site>& sites, bool live) {
  if (sites.empty()) return "";
  text_table table({{"objects"}, {"bytes"}, {live ? "" : "mean life"}, {title, side::left}});
  const auto all_lines = lines_of(sites);
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const study::amount& a = live ? sites[i].live : sites[i].allocated;
    const double lifetime = sites[i].mean_lifetime_ns;
    const std::string life = live ? "" : lifetime == 0 ? "-" : human_time(lifetime);
    table.add({in_words(a.objects), in_bytes(a.bytes), life, all_lines[i].front()});
    for (const std::string& line : std::span(all_lines[i]).subspan(1)) table.add({"", "", "", line});
  }
  return "\n" + table.str();
}

}  // namespace

std::string report_text(const report_data& data) {
  std::string text = fmt::format("{}\n", shorten(data.program.empty() ? data.path : data.program, page_width));
  if (!data.warning.empty()) text += data.warning + "\n";
  if (data.own) text += paragraph(own_allocator_text(*data.own));
  text += paragraph(data.choice);
  text += facts(data) + live_text(data);
  text += histogram_text("size", data.sizes, axis_bytes, true) + common_text(data);
  text += histogram_text("lifetime", coarser(data.lifetimes_ns, decimal_boundaries(true)), axis_time, false);
  text += histogram_text("lifetime in bytes allocated", coarser(data.lifetimes_bytes, binary_boundaries(4)), axis_bytes,
                         false);
  text += threads_text(data) + spans_text(data);
  if (data.has_stacks && !data.passed_through.empty()) text += "\n" + paragraph(passed_through_note(data));
  text += sites_text("call sites by objects", data.by_count, false);
  text += sites_text("call sites by bytes", data.by_bytes, false);
  text += sites_text("call sites of objects never freed", data.by_live, true);
  if (!data.has_stacks) text += "\n" + no_sites_note(data.has_stacks, data.events) + "\n";
  for (const std::string& note : data.notes) text += "\n" + paragraph(note);
  return text;
}

namespace {

using nlohmann::json;

json amount_to_json(const study::amount& a) { return {{"objects", a.objects}, {"bytes", a.bytes}}; }

json to_json(const std::vector<histogram_row>& rows, bool bytes) {
  json all = json::array();
  for (const histogram_row& row : rows) {
    json j = {{"from", row.least}, {"to", row.greatest}, {"objects", row.count}};
    if (bytes) j["bytes"] = row.bytes;
    all.push_back(j);
  }
  return all;
}

json to_json(const std::vector<call_site>& sites) {
  json all = json::array();
  for (const call_site& site : sites)
    all.push_back({{"calls", site.calls},
                   {"through", site.through},
                   {"allocated", amount_to_json(site.allocated)},
                   {"never_freed", amount_to_json(site.live)},
                   {"mean_lifetime_ns", site.mean_lifetime_ns}});
  return all;
}

json to_json(const thread_row& t) {
  return {{"thread", t.id},
          {"name", t.name},
          {"peak_bytes", t.sum.peak_bytes},
          {"first_ns", t.sum.first_ns},
          {"last_ns", t.sum.last_ns},
          {"allocations", t.sum.allocations},
          {"frees", t.sum.frees},
          {"freed_by_others", t.sum.freed_remote},
          {"bytes", t.sum.bytes},
          {"ended", t.sum.ended}};
}

json to_json(const span_row& row) {
  const study::span_summary& s = row.sum;
  return {{"name", row.name},
          {"count", s.count()},
          {"unended", s.unended},
          {"p50_ns", s.durations_ns.quantile(0.5)},
          {"p99_ns", s.durations_ns.quantile(0.99)},
          {"p99_9_ns", s.durations_ns.quantile(0.999)},
          {"longest_ns", s.durations_ns.max()},
          {"allocations", s.allocations},
          {"most_allocations", s.most_allocations},
          {"bytes", s.bytes},
          {"most_bytes", s.most_bytes},
          {"most_peak_bytes", s.most_peak_bytes}};
}

json calls_json(const study::trace_summary& sum) {
  json calls = json::object();
  for (std::size_t i = 0; i < sum.operations.size(); ++i)
    calls[std::string(trace::name(static_cast<trace::operation>(i)))] = sum.operations[i];
  return calls;
}

json live_json(const study::trace_summary& sum) {
  json points = json::array();
  for (const auto& p : sum.live_bytes.points())
    points.push_back({{"time_ns", p.time_ns}, {"least", p.least}, {"greatest", p.greatest}});
  return points;
}

}  // namespace

json report_json(const report_data& data) {
  const study::trace_summary& s = data.sum;
  json threads = json::array();
  for (const thread_row& t : data.threads) threads.push_back(to_json(t));
  json spans = json::array();
  for (const span_row& row : data.spans) spans.push_back(to_json(row));
  return {{"trace", data.path},
          {"program", data.program},
          {"warning", data.warning},
          {"notes", data.notes},
          {"events", data.events},
          {"duration_ns", s.duration_ns},
          {"calls", calls_json(s)},
          {"allocated", amount_to_json(s.allocated)},
          {"peak", {{"objects", s.peak.objects}, {"bytes", s.peak.bytes}, {"time_ns", s.peak_ns}}},
          {"never_freed", amount_to_json(s.live)},
          {"resident_peak_bytes", or_null(data.resident_peak_bytes)},
          {"anonymous_peak_bytes", data.resident_peak_bytes == 0 ? json() : json(data.anonymous_peak_bytes)},
          {"own_allocator", own_allocator_json(data.own)},
          {"processes", data.processes},
          {"choice", or_null(data.choice)},
          {"failed_calls", s.failed},
          {"frees", s.frees},
          {"frees_of_unknown", s.unknown},
          {"cross_thread_frees", s.cross_thread},
          {"sizes", to_json(data.sizes, true)},
          {"common_sizes", to_json(data.common_sizes, true)},
          {"lifetimes_ns", to_json(data.lifetimes_ns, false)},
          {"lifetimes_bytes", to_json(data.lifetimes_bytes, false)},
          {"thread_count", data.thread_count},
          {"threads", threads},
          {"spans", spans},
          {"unmatched_span_ends", s.spans.unmatched_ends},
          {"live_bytes", live_json(s)},
          {"call_sites", data.site_count},
          {"passed_through", data.passed_through},
          {"call_sites_by_objects", to_json(data.by_count)},
          {"call_sites_by_bytes", to_json(data.by_bytes)},
          {"call_sites_never_freed", to_json(data.by_live)}};
}

}  // namespace ashlar::cli
