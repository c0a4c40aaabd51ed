// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The section of a report about the replay: the table and three plots.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "cli/html/charts.hpp"
#include "cli/html/page.hpp"
#include "cli/html/report.hpp"
#include "cli/html/svg.hpp"
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

}  // namespace

std::string html_replay_section(const replay_figures& figures, const replayed_trace& replayed) {
  const auto rows = ranked(figures);
  std::string out = fmt::format("<h2>Replay</h2>\n<p>{}</p>\n", escaped(replay_headline(replayed)));
  out += table(rows, figures, replayed) + plots(rows) + "<ul class=\"notes\">\n";
  for (const candidate_figures& row : figures.rows)
    if (!row.measured()) out += fmt::format("<li>{}: {}</li>\n", escaped(row.name), escaped(row.failure));
  for (const std::string& note : replay_notes(figures, replayed)) out += fmt::format("<li>{}</li>\n", escaped(note));
  return out + "</ul>\n";
}

}  // namespace ashlar::cli
