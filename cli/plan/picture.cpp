// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan as a picture: time across, addresses upwards.
#include <fmt/format.h>

#include <ashlar/detail/planner/make_instance.hpp>

#include "cli/html/page.hpp"
#include "cli/plan/output.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

constexpr double width = 1600, height = 900, left = 90, bottom = 40;

struct frame {
  double first = 0, moments = 1, bytes = 1;

  frame(const plan::problem& p, const plan::layout& l) {
    std::uint64_t from = ~std::uint64_t{0}, to = 0;
    for (const plan::buffer& b : p.buffers) {
      from = std::min(from, b.birth);
      to = std::max(to, b.death);
    }
    if (p.buffers.empty()) return;
    first = static_cast<double>(from);
    moments = static_cast<double>(to - from);
    bytes = static_cast<double>(std::max<std::uint64_t>(1, l.height));
  }

  [[nodiscard]] double x(std::uint64_t moment) const {
    return left + (static_cast<double>(moment) - first) / moments * (width - left - 10);
  }
  [[nodiscard]] double y(std::uint64_t byte) const {
    return height - bottom - static_cast<double>(byte) / bytes * (height - bottom - 20);
  }
};

/// Neighbouring ids get distant hues.
int hue_of(std::uint64_t id) { return static_cast<int>(id * 137 % 360); }

/// A stretch of a buffer: its whole life, or a part between gaps.
std::string rectangle(const frame& f, const plan::buffer& b, const std::string& name,
                      const detail::planner::interval& s, std::uint64_t offset, bool peak, bool outlined) {
  const double x = f.x(s.begin), y = f.y(offset + s.high);
  const double w = std::max(f.x(s.end) - x, 0.2), h = std::max(f.y(offset + s.low) - y, 0.2);
  return fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
                     "fill=\"hsl({},{}%,{}%)\"{}><title>buffer {}: {} at "
                     "{}, live [{}, {})</title></rect>\n",
                     x, y, w, h, hue_of(b.id), peak ? 75 : 45, peak ? 55 : 72,
                     outlined ? " stroke=\"#333\" stroke-width=\"0.4\"" : "", name, counted(b.size, "byte"), offset,
                     b.birth, b.death);
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" {}/>\n", x1, y1, x2, y2, style);
}

std::string label(double x, double y, const std::string& text, const char* anchor) {
  return fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, text);
}

std::string marks(const frame& f, const plan::layout& l) {
  constexpr const char* dashed = "stroke=\"#c00\" stroke-width=\"1.2\" stroke-dasharray=\"6 4\"";
  const double x = f.x(l.peak_moment), y = f.y(std::min(l.lower_bound, l.height));
  return line(x, 20, x, height - bottom, dashed) + line(left, y, width - 10, y, dashed) +
         label(x, height - bottom + 32, "peak: moment " + std::to_string(l.peak_moment), "middle") +
         label(width - 12, y - 4, "lower bound " + std::to_string(l.lower_bound), "end");
}

std::string axes(const frame& f, const plan::layout& l) {
  constexpr const char* solid = "stroke=\"#333\"";
  std::string out =
      line(left, 20, left, height - bottom, solid) + line(left, height - bottom, width - 10, height - bottom, solid);
  for (unsigned k = 0; k <= 4; ++k) {
    out += label(left - 6, f.y(l.height / 4 * k) + 4, std::to_string(l.height / 4 * k), "end");
    const auto moment = static_cast<std::uint64_t>(f.first + f.moments * k / 4);
    out += label(f.x(moment), height - bottom + 16, std::to_string(moment), k == 4 ? "end" : "middle");
  }
  return out;
}

}  // namespace

std::string plan_as_svg(const plan::problem& p, const plan::layout& l, const plan_names& names) {
  const frame f(p, l);
  std::string out =
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" font-family=\"sans-serif\" "
                  "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
                  width, height);
  // Outlines of ten thousand buffers would cover their insides.
  const bool outlined = p.buffers.size() <= 2000;
  const std::vector<plan::gap> gaps = detail::planner::sorted_gaps(p);
  std::vector<detail::planner::interval> life;
  for (plan::position i = 0; i < p.buffers.size(); ++i) {
    life.clear();
    append_life(life, p, gaps, i);
    for (const detail::planner::interval& s : life)
      out += rectangle(f, p.buffers[i], escaped(name_of(p, names, i)), s, l.offsets[i],
                       s.begin <= l.peak_moment && l.peak_moment < s.end, outlined);
  }
  return out + axes(f, l) + marks(f, l) + "</svg>\n";
}

std::string plan_as_html(const plan::problem& p, const plan::layout& l, const plan_names& names,
                         const std::string& title) {
  const std::string name = escaped(title);
  return "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>" + name +
         "</title>\n<style>body{font-family:sans-serif;margin:1em}svg{width:100%;height:auto}</style>\n<h1>" + name +
         "</h1>\n<pre>" + plan_figures(p, l) + "</pre>\n" + plan_as_svg(p, l, names) + "</html>\n";
}

}  // namespace ashlar::cli
