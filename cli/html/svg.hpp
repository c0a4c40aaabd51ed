// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An SVG drawing: the few shapes that plots need, styled by the page's classes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ashlar::cli {

/// Returns: the text with the special characters of HTML escaped, and U+FFFD for bytes that are not UTF-8.
[[nodiscard]] std::string escaped(std::string_view text);

class svg {
public:
  /// `label`: the text for screen readers.
  svg(double width, double height, const std::string& label);

  void line(double x1, double y1, double x2, double y2, std::string_view style);
  /// Effects: draws a rectangle; `hint` is shown under the pointer.
  void rect(double x, double y, double width, double height, std::string_view style, std::string_view hint = {});
  void circle(double x, double y, double radius, std::string_view style, std::string_view hint = {});
  void diamond(double x, double y, double radius, std::string_view style, std::string_view hint = {});
  void polygon(const std::vector<std::pair<double, double>>& points, std::string_view style);
  /// `anchor` is start, middle or end.
  void text(double x, double y, std::string_view words, std::string_view anchor, std::string_view style = "label");

  /// Returns: the complete element.
  [[nodiscard]] std::string str() const { return out_ + "</svg>\n"; }

private:
  std::string out_;
};

}  // namespace ashlar::cli
