// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lays out tables of text. Escapes are as in C.
#include "cli/support/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace ashlar::cli {

namespace {

std::string escape(unsigned char c) {
  switch (c) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return fmt::format("\\x{:02x}", c);
  }
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

void append_row(std::string& out, const std::vector<std::string>& cells, const std::vector<column>& columns,
                const std::vector<std::size_t>& widths) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string blank(widths[i] - display_width(cells[i]), ' ');
    if (i != 0) out += "  ";
    out += columns[i].aligned == side::left ? cells[i] + blank : blank + cells[i];
  }
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr unsigned char first_of_two = 0xC2;  // in UTF-8
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (c == first_of_two && next >= 0x80 && next < 0xA0) {
      shown += fmt::format("\\u{:04x}", next);
      ++i;
    } else if (c < ' ' || c == 0x7F) {
      shown += escape(c);
    } else {
      shown += text[i];
    }
  }
  return shown;
}

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string shorten(const std::string& whole, std::size_t width) {
  const std::string text = printable(whole);
  if (display_width(text) <= width) return text;
  std::string kept;
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!continues(text[i]) && ++columns == width) break;
    kept += text[i];
  }
  return kept + "…";
}

std::string wrapped(const std::string& text, std::size_t width, const std::string& indent) {
  std::string out;
  std::size_t column = 0;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    word = printable(word);
    const std::size_t wide = display_width(word);
    if (column != 0 && column + 1 + wide > width) {
      out += '\n' + indent;
      column = display_width(indent);
    } else if (column != 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += wide;
  }
  return out;
}

std::string hanging(const std::string& head, const std::string& text, std::size_t width) {
  const std::string indent(display_width(head), ' ');
  std::string out = head;
  for (const char c : wrapped(text, width - indent.size())) {
    out += c;
    if (c == '\n') out += indent;
  }
  return out;
}

std::string bar(double share, std::size_t width) {
  static constexpr std::array<const char*, 8> part = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double clamped = std::clamp(share, 0.0, 1.0);
  auto eighths = static_cast<std::size_t>(std::lround(clamped * static_cast<double>(width) * 8));
  if (share > 0) eighths = std::max<std::size_t>(eighths, 1);
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  return text + part[eighths % 8];
}

void text_table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> text_table::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
  }
  return widths;
}

std::string text_table::str() const {
  const std::vector<std::size_t> wide = widths();
  std::vector<std::string> titles;
  for (const column& c : columns_) titles.push_back(c.title);
  std::string line;
  for (std::size_t i = 0; i < wide.size(); ++i) line += (i == 0 ? "" : "──");
  for (const std::size_t w : wide)
    for (std::size_t i = 0; i < w; ++i) line += "─";
  std::string out;
  append_row(out, titles, columns_, wide);
  out += line + '\n';
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (std::find(rules_.begin(), rules_.end(), i) != rules_.end()) out += line + '\n';
    append_row(out, rows_[i], columns_, wide);
  }
  return out;
}

std::string capital(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

}  // namespace ashlar::cli
