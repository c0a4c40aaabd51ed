// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes shapes as SVG.
#include "cli/html/svg.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ashlar::cli {

namespace {

std::string hinted(std::string_view hint, const char* element) {
  return hint.empty() ? "/>\n" : fmt::format("><title>{}</title></{}>\n", escaped(hint), element);
}

std::string path(const std::vector<std::pair<double, double>>& points) {
  std::string all;
  for (const auto& [x, y] : points) all += fmt::format("{:.1f},{:.1f} ", x, y);
  return all;
}

/// Returns: the text with U+FFFD in place of bytes that are not UTF-8, as the JSON of a page has it.
std::string as_utf8(std::string_view text) {
  using nlohmann::json;
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : as_utf8(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

svg::svg(double width, double height, const std::string& label)
    : out_(fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", width, height,
                       escaped(label))) {}

void svg::line(double x1, double y1, double x2, double y2, std::string_view style) {
  out_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2, y2,
                      style);
}

void svg::rect(double x, double y, double width, double height, std::string_view style, std::string_view hint) {
  out_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"{}", x, y, width,
                      height, style, hinted(hint, "rect"));
}

void svg::circle(double x, double y, double radius, std::string_view style, std::string_view hint) {
  out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" class=\"{}\"{}", x, y, radius, style,
                      hinted(hint, "circle"));
}

void svg::diamond(double x, double y, double radius, std::string_view style, std::string_view hint) {
  out_ += fmt::format("<polygon points=\"{}\" class=\"{}\"{}",
                      path({{x, y - radius}, {x + radius, y}, {x, y + radius}, {x - radius, y}}), style,
                      hinted(hint, "polygon"));
}

void svg::polygon(const std::vector<std::pair<double, double>>& points, std::string_view style) {
  out_ += fmt::format("<polygon points=\"{}\" class=\"{}\"/>\n", path(points), style);
}

void svg::text(double x, double y, std::string_view words, std::string_view anchor, std::string_view style) {
  out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", x, y, anchor,
                      style, escaped(words));
}

}  // namespace ashlar::cli
