// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Draws the charts of a trace: histograms, and live bytes over time.
#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "cli/html/charts.hpp"
#include "cli/html/svg.hpp"
#include "cli/support/table_units.hpp"

namespace ashlar::cli {

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
