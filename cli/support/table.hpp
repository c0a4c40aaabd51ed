// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables of text for terminals: columns fit their contents, numbers are right-aligned. Control characters in cells and
// in text that is wrapped or shortened are escaped (`printable`), as they may come from names that a program gives
// (blanks of wrapped text, line ends among them, are joined to one).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar::cli {

/// Returns: the text with control characters, which a terminal would obey, as escapes: \n, \t, \x1b; characters of two
/// bytes, from U+0080 to U+009F, as \u009b. Of its own result: the same.
[[nodiscard]] std::string printable(std::string_view text);

enum class side { left, right };

struct column {
  std::string title;
  side aligned = side::right;
};

class text_table {
public:
  explicit text_table(std::vector<column> columns) : columns_(std::move(columns)) {}

  /// Expects: as many cells as columns.
  void add(std::vector<std::string> cells);
  /// Effects: draws a line above the next row.
  void rule() { rules_.push_back(rows_.size()); }

  /// Returns: the lines, each with its end and without trailing blanks.
  [[nodiscard]] std::string str() const;

private:
  [[nodiscard]] std::vector<std::size_t> widths() const;

  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> rules_;
};

/// Columns that a line of output has at most.
inline constexpr std::size_t page_width = 100;

/// Returns: the number of terminal columns of UTF-8 text; wide characters are not supported.
[[nodiscard]] std::size_t display_width(const std::string& text);

/// Returns: the text, or its start and an ellipsis if it is wider than `width`.
[[nodiscard]] std::string shorten(const std::string& text, std::size_t width);

/// Returns: the text in lines of at most `width` columns, broken at blanks; all but the first start with `indent`.
[[nodiscard]] std::string wrapped(const std::string& text, std::size_t width, const std::string& indent = "");

/// Returns: `head`, and the text beside it in lines of at most `width` columns, all of which begin where the first
/// does.
[[nodiscard]] std::string hanging(const std::string& head, const std::string& text, std::size_t width);

/// Returns: the text with its first letter in upper case, if that is one from a to z.
[[nodiscard]] std::string capital(std::string text);

/// Returns: a bar of blocks, `share` (0 to 1) of `width` columns long in eighths of a column.
[[nodiscard]] std::string bar(double share, std::size_t width);

}  // namespace ashlar::cli
