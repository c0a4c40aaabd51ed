// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text for people: tables, wrapped lines, quantities of three figures with a unit, command lines. Tables fit their
// contents, with numbers right-aligned. Control characters in cells and in wrapped or shortened text are escaped
// (`printable`), as they may come from names that a program gives; blanks of wrapped text, line ends too, become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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

/// Returns: `head`, and the text beside it in lines of at most `width` columns that all begin at one column.
[[nodiscard]] std::string hanging(const std::string& head, const std::string& text, std::size_t width);

/// Returns: the text beside its head in lines of a page, with the end of the last; empty for none.
[[nodiscard]] std::string paragraph(const std::string& text, const std::string& head = "");

/// Returns: a paragraph for each note, behind a dot.
[[nodiscard]] std::string bullets(const std::vector<std::string>& notes);

/// Returns: the text with its first letter in upper case, if that is one from a to z.
[[nodiscard]] std::string capital(std::string text);

/// Returns: a bar of blocks, `share` (0 to 1) of `width` columns long in eighths of a column.
[[nodiscard]] std::string bar(double share, std::size_t width);

/// 840 ns, 1.25 µs, 33.1 ms, 4.02 s, 3 min 12 s
[[nodiscard]] std::string human_time(double ns);
/// 17 B, 1.50 KiB, 33.1 MiB
[[nodiscard]] std::string human_bytes(double bytes);
/// 17, 1,234, 56.7 k, 3.21 M, 12.0 G
[[nodiscard]] std::string human_count(double count);
/// 1,234,567
[[nodiscard]] std::string grouped(std::uint64_t n);
/// 17 objects, 1 object, 56.7 k objects
[[nodiscard]] std::string human_count(double count, const char* noun);
/// 17 batches, 1 batch, 56.7 k batches
[[nodiscard]] std::string human_count(double count, const char* one, const char* many);
/// 1 site, 3 sites, 1,234 sites
[[nodiscard]] std::string counted(std::uint64_t n, const char* noun);
/// 1 process, 3 processes
[[nodiscard]] std::string counted(std::uint64_t n, const char* one, const char* many);
/// 3.2 %; < 0.1 %; 0 %
[[nodiscard]] std::string percent(double part, double whole);
/// Three figures: 0.123, 1.23, 12.3, 123, 12345
[[nodiscard]] std::string figures3(double value);

/// Returns: the seconds that "60", "60s" or "2m" are; negative for other texts, and outside of 0 to 1e6 s.
[[nodiscard]] double budget_seconds(const std::string& text);

/// Returns: the words with a blank, or the separator, between neighbours.
[[nodiscard]] std::string joined(const std::vector<std::string>& words, const char* separator = " ");

/// Returns: the strings as a system call takes them.
[[nodiscard]] std::vector<char*> pointers(std::vector<std::string>& strings);

/// Returns: the word in quotes of the shell.
[[nodiscard]] std::string quoted(const std::string& word);

/// Returns: the word, in quotes if the shell would not read it as itself.
[[nodiscard]] std::string shell_word(const std::string& word);

/// Returns: the words as a user would type them, the first of which is no assignment.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

/// Returns: the words of a command line, at blanks outside quotes; or "/bin/sh", "-c" and the line, if it has a
/// character of the shell's own outside single quotes. So a program without a shell's help starts without a shell.
/// Throws: `std::invalid_argument` for an empty line or an open quote.
[[nodiscard]] std::vector<std::string> command_words(const std::string& line);

/// Returns: "; did you mean 'WORD'?" with the nearest of `known`, or nothing if none is near.
[[nodiscard]] std::string suggestion(const std::string& word, const std::vector<std::string>& known);

[[nodiscard]] inline std::string in_bytes(std::uint64_t n) { return human_bytes(static_cast<double>(n)); }
[[nodiscard]] inline std::string in_words(std::uint64_t n) { return human_count(static_cast<double>(n)); }
/// Returns: the number, and its noun, with its verb if need be, as in `in_words(n, "object is", "objects are")`.
template <class... Forms>
[[nodiscard]] std::string in_words(std::uint64_t n, Forms... forms) {
  return human_count(static_cast<double>(n), forms...);
}
/// Returns: the percentage.
[[nodiscard]] inline std::string part_of(std::uint64_t some, std::uint64_t all) {
  return percent(static_cast<double>(some), static_cast<double>(all));
}

}  // namespace ashlar::cli
