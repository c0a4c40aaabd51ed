// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Charts with a row for each allocator, histograms, and live bytes over time.
#include "cli/html/charts.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "cli/html/svg.hpp"
#include "cli/support/table.hpp"
#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

constexpr double width = 920, left = 146, right = 96, row_height = 32, top = 10;

std::string value_label(double value, quantity q) {
  switch (q) {
    case quantity::bytes: return human_bytes(value);
    case quantity::time_ns: return human_time(value);
    case quantity::count: return human_count(value);
    case quantity::ratio: return figures3(value);
  }
  return {};
}

void draw_axis(svg& out, const scale& x, double from, double bottom, const std::string& name, quantity q) {
  for (const double mark : x.marks()) {
    out.line(x.at(mark), top, x.at(mark), bottom, "grid");
    out.text(x.at(mark), bottom + 16, axis_label(mark, q), "middle", "tick");
  }
  out.text((from + width - right) / 2, bottom + 36, name, "middle", "axis");
}

void draw_bar(svg& out, const scale& x, double y, const bar_row& row, quantity q, std::size_t name_columns) {
  const std::string hint = fmt::format("{}: median {}, {} to {}", row.name, value_label(row.value.median, q),
                                       value_label(row.value.least, q), value_label(row.value.greatest, q));
  const double base = x.at(0);
  out.text(base - 10, y + 5, shorten(row.name, name_columns), "end", row.style == "own" ? "name strong" : "name");
  out.rect(base, y - 8, std::max(x.at(row.value.median) - base, 1.0), 16, row.style, hint);
  const double from = x.at(row.value.least), to = x.at(row.value.greatest);
  out.line(from, y, to, y, "whisker");
  for (const double end : {from, to}) out.line(end, y - 4, end, y + 4, "whisker");
  out.text(std::max(to, x.at(row.value.median)) + 8, y + 5, value_label(row.value.median, q), "start", "value");
}

struct tail_mark {
  const char* name;
  spread latency_spread::* value;
};
constexpr std::array<tail_mark, 4> tail_marks = {{{"p50", &latency_spread::p50},
                                                  {"p99", &latency_spread::p99},
                                                  {"p99.9", &latency_spread::p999},
                                                  {"max", &latency_spread::max}}};

/// A different shape for each mark, so that colour carries no meaning alone; marks at the same place nest.
void draw_mark(svg& out, std::size_t which, double x, double y, const std::string& style, const std::string& hint) {
  if (which == 0) out.circle(x, y, 3, style, hint);
  if (which == 1) out.circle(x, y, 6, style + " hollow", hint);
  if (which == 2) out.diamond(x, y, 10.5, style + " hollow", hint);
  if (which == 3) out.rect(x - 2, y - 9, 4, 18, style, hint);
}

void draw_legend(svg& out) {
  double x = left;
  for (std::size_t i = 0; i < tail_marks.size(); ++i, x += 90) {
    draw_mark(out, i, x + 10, 14, "plain", "");
    out.text(x + 26, 18.5, tail_marks[i].name, "start", "tick");
  }
}

void draw_tail(svg& out, const scale& x, double y, const tail_row& row, double step_ns) {
  const auto at = [&](std::size_t i) { return x.at(std::max((row.calls.*tail_marks[i].value).median, step_ns)); };
  out.text(left - 10, y + 5, shorten(row.name, 18), "end", row.style == "own" ? "name strong" : "name");
  out.line(at(0), y, at(3), y, row.style + " stem");
  for (std::size_t i = tail_marks.size(); i-- > 0;) {  // the smallest on top
    const double ns = (row.calls.*tail_marks[i].value).median;
    const std::string text = ns < step_ns ? "below " + human_time(step_ns) : human_time(ns);
    draw_mark(out, i, at(i), y, row.style, fmt::format("{}, {}: {}", row.name, tail_marks[i].name, text));
  }
  out.text(at(3) + 10, y + 5, human_time(row.calls.max.median), "start", "value");
}

}  // namespace

std::string bar_chart(const std::string& title, const std::string& axis, quantity q, const std::vector<bar_row>& rows,
                      std::size_t name_columns) {
  const double base = left * static_cast<double>(name_columns) / static_cast<double>(bar_name_columns);
  double most = 0;
  for (const bar_row& row : rows) most = std::max(most, row.value.greatest);
  const double bottom = top + row_height * static_cast<double>(rows.size()) + 4;
  const scale x = scale::linear(most, base, width - right, q);
  svg out(width, bottom + 44, title);
  draw_axis(out, x, base, bottom, axis, q);
  for (std::size_t i = 0; i < rows.size(); ++i)
    draw_bar(out, x, top + row_height * (static_cast<double>(i) + 0.5) + 2, rows[i], q, name_columns);
  out.line(base, top, base, bottom, "base-line");
  return out.str();
}

std::string tail_chart(const std::vector<tail_row>& rows, double step_ns) {
  constexpr double legend = 28;
  double most = 0;
  for (const tail_row& row : rows) most = std::max(most, row.calls.max.median);
  const double bottom = top + legend + row_height * static_cast<double>(rows.size()) + 4;
  const scale x = scale::logarithmic(std::max(step_ns, 1.0), most, left + 8, width - right);
  svg out(width, bottom + 44, "latency of calls, p50 to max");
  for (const double mark : x.marks()) {
    out.line(x.at(mark), top + legend, x.at(mark), bottom, "grid");
    out.text(x.at(mark), bottom + 16, axis_label(mark, quantity::time_ns), "middle", "tick");
  }
  out.text((left + width - right) / 2, bottom + 36, "time of one call (logarithmic)", "middle", "axis");
  draw_legend(out);
  for (std::size_t i = 0; i < rows.size(); ++i)
    draw_tail(out, x, top + legend + row_height * (static_cast<double>(i) + 0.5) + 2, rows[i], step_ns);
  return out.str();
}

namespace {

/// The inner area of a plot with two axes.
struct frame {
  double left, top, right, bottom;
};

void draw_y_axis(svg& out, const scale& y, const frame& f, const std::string& name, quantity q) {
  for (const double mark : y.marks()) {
    out.line(f.left, y.at(mark), f.right, y.at(mark), "grid");
    out.text(f.left - 8, y.at(mark) + 4, axis_label(mark, q), "end", "tick");
  }
  out.text(f.left - 60, f.top - 14, name, "start", "axis");
}

std::string range_text(const histogram_row& row, quantity q) {
  const auto label = [q](std::uint64_t v) { return axis_label(static_cast<double>(v), q); };
  if (row.least == row.greatest) return label(row.least);
  return fmt::format("{} to {}", label(row.least), label(row.greatest + 1));
}

std::string weight_text(double value, quantity q) {
  return q == quantity::bytes ? human_bytes(value) : human_count(value, "object");
}

}  // namespace

std::string column_chart(const std::string& title, const std::string& x_axis, quantity x, const std::string& y_axis,
                         quantity y, const std::vector<histogram_row>& rows, double (*weight)(const histogram_row&)) {
  const frame f{64, 34, 444, 210};
  svg out(452, 262, title);
  double most = 0;
  for (const histogram_row& row : rows) most = std::max(most, weight(row));
  const scale height = scale::linear(most, f.bottom, f.top, y, 4);
  draw_y_axis(out, height, f, y_axis, y);
  const double step = (f.right - f.left) / static_cast<double>(std::max<std::size_t>(rows.size(), 1));
  const auto every = static_cast<std::size_t>(56 / step) + 1;  // a label needs about 56 units
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double at = f.left + step * static_cast<double>(i), value = weight(rows[i]);
    const std::string hint = range_text(rows[i], x) + ": " + weight_text(value, y);
    if (value > 0) out.rect(at + step * 0.1, height.at(value), step * 0.8, f.bottom - height.at(value), "column", hint);
    if (i % every == 0) {
      out.line(at, f.bottom, at, f.bottom + 4, "base-line");
      out.text(at, f.bottom + 18, axis_label(static_cast<double>(rows[i].least), x), "middle", "tick");
    }
  }
  out.line(f.left, f.bottom, f.right, f.bottom, "base-line");
  out.text((f.left + f.right) / 2, f.bottom + 40, x_axis, "middle", "axis");
  return out.str();
}

std::string area_chart(const std::string& title, const study::timeline& line, double duration_ns) {
  const frame f{76, 34, 900, 240};
  svg out(920, 292, title);
  const auto points = line.points();
  double most = 0;
  for (const auto& p : points) most = std::max(most, static_cast<double>(p.greatest));
  const scale y = scale::linear(most, f.bottom, f.top, quantity::bytes, 4);
  const scale whole = scale::exact(duration_ns, f.left, f.right, quantity::time_ns, 8);
  draw_y_axis(out, y, f, "live bytes", quantity::bytes);
  std::vector<std::pair<double, double>> area, band;
  for (const auto& p : points) {
    const double from = whole.at(static_cast<double>(p.time_ns));
    const double to = whole.at(std::min(static_cast<double>(p.time_ns + line.span_ns()), duration_ns));
    for (const double x : {from, to}) area.emplace_back(x, y.at(static_cast<double>(p.greatest)));
    for (const double x : {from, to}) band.emplace_back(x, y.at(static_cast<double>(p.least)));
  }
  std::vector<std::pair<double, double>> low = band, high = area;
  high.insert(high.end(), low.rbegin(), low.rend());
  low.emplace_back(low.empty() ? f.left : low.back().first, f.bottom);
  low.emplace_back(f.left, f.bottom);
  out.polygon(low, "area");
  out.polygon(high, "area-edge");
  for (const double mark : whole.marks()) {
    out.line(whole.at(mark), f.bottom, whole.at(mark), f.bottom + 4, "base-line");
    out.text(whole.at(mark), f.bottom + 17, axis_label(mark, quantity::time_ns), "middle", "tick");
  }
  out.line(f.left, f.bottom, f.right, f.bottom, "base-line");
  out.text((f.left + f.right) / 2, f.bottom + 40, "time since the program started", "middle", "axis");
  return out.str();
}

}  // namespace ashlar::cli
