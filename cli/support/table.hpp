// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables of text for terminals: columns as wide as what they hold, numbers to the right.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ashlar::cli {

enum class side { left, right };

struct column {
  std::string title;
  side aligned = side::right;
};

class text_table {
public:
  explicit text_table(std::vector<column> columns) : columns_(std::move(columns)) {}

  /// Expects: as many cells as there are columns.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Effects: the next row stands under a line.
  void rule() { rules_.push_back(rows_.size()); }

  /// Returns: the lines, each ended and none with trailing blanks.
  [[nodiscard]] std::string str() const;

private:
  [[nodiscard]] std::vector<std::size_t> widths() const;

  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> rules_;
};

/// Returns: how many columns of a terminal UTF-8 text takes; wide characters are not catered for.
[[nodiscard]] std::size_t display_width(const std::string& text);

/// Returns: the text, or its start and an ellipsis where it is wider than `width`.
[[nodiscard]] std::string shorten(const std::string& text, std::size_t width);

/// Returns: the text in lines of at most `width` columns, broken at blanks; all but the first start with `indent`.
[[nodiscard]] std::string wrapped(const std::string& text, std::size_t width, const std::string& indent = "");

/// Returns: a bar of blocks, `share` (0 to 1) of `width` columns long in eighths of a column.
[[nodiscard]] std::string bar(double share, std::size_t width);

}  // namespace ashlar::cli
