// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lays out tables of text, formats quantities for people and reads theirs, splits and quotes command lines. Escapes are
// as in C, quotes as in the shell.
#include "cli/support/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>
#include <span>
#include <sstream>
#include <stdexcept>
#include <system_error>

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

std::string paragraph(const std::string& text, const std::string& head) {
  return text.empty() ? "" : hanging(head, text, page_width) + "\n";
}

std::string bullets(const std::vector<std::string>& notes) {
  std::string all;
  for (const std::string& note : notes) all += paragraph(note, "· ");
  return all;
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

namespace {

struct unit {
  double size;
  const char* name;
};

// The largest unit not above the value; 999.5 of one unit is 1.00 of the next.
std::string in_units(double value, std::span<const unit> units) {
  std::size_t i = 0;
  while (i + 1 < units.size() && value >= units[i + 1].size * 0.9995) ++i;
  return fmt::format("{}{}", figures3(value / units[i].size), units[i].name);
}

}  // namespace

std::string figures3(double value) {
  const double magnitude = std::abs(value);
  if (magnitude == 0 || magnitude >= 99.95) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, magnitude >= 9.995 ? 1 : magnitude >= 0.9995 ? 2 : 3);
}

std::string human_time(double ns) {
  static constexpr std::array<unit, 4> units = {{{1, " ns"}, {1e3, " µs"}, {1e6, " ms"}, {1e9, " s"}}};
  const auto seconds = static_cast<std::uint64_t>(std::llround(ns / 1e9));
  if (seconds >= 3600) return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
  if (seconds >= 120) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  if (ns < 1000) return fmt::format("{:.0f} ns", ns);
  return in_units(ns, units);
}

std::string human_bytes(double bytes) {
  static constexpr std::array<unit, 6> units = {{{1, " B"},
                                                 {1024., " KiB"},
                                                 {1048576., " MiB"},
                                                 {1073741824., " GiB"},
                                                 {1099511627776., " TiB"},
                                                 {1125899906842624., " PiB"}}};
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  return in_units(bytes, units);
}

std::string human_count(double count) {
  static constexpr std::array<unit, 4> units = {{{1, ""}, {1e3, " k"}, {1e6, " M"}, {1e9, " G"}}};
  if (count < 10000) return grouped(static_cast<std::uint64_t>(std::llround(count)));
  return in_units(count, units);
}

std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string human_count(double count, const char* noun) {
  return human_count(count, noun, (std::string(noun) + "s").c_str());
}
std::string human_count(double count, const char* one, const char* many) {
  return human_count(count) + " " + (std::llround(count) == 1 ? one : many);
}

std::string counted(std::uint64_t n, const char* noun) { return counted(n, noun, (std::string(noun) + "s").c_str()); }
std::string counted(std::uint64_t n, const char* one, const char* many) {
  return grouped(n) + " " + (n == 1 ? one : many);
}

std::string percent(double part, double whole) {
  if (part == 0 || whole == 0) return "0 %";
  const double share = 100 * part / whole;
  if (share < 0.1) return "< 0.1 %";
  return fmt::format("{:.{}f} %", share, share >= 9.95 ? 0 : 1);
}

double budget_seconds(const std::string& text) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc()) return -1;
  const std::string unit(end, last);
  if (unit == "m") value *= 60;
  else if (!unit.empty() && unit != "s") return -1;
  return value >= 0 && value <= 1e6 ? value : -1;
}

namespace {

constexpr const char* blanks = " \t\n";
constexpr const char* of_the_shell = "|&;<>()$`\\*?[#~\n";

bool is_any_of(char c, const char* set) { return std::string(set).find(c) != std::string::npos; }

struct words_and_need {
  std::vector<std::string> words;
  bool needs_shell = false;
};

words_and_need split(const std::string& line) {
  words_and_need result;
  bool in_word = false;
  char quote = 0;
  for (const char c : line) {
    result.needs_shell = result.needs_shell || (quote != '\'' && is_any_of(c, of_the_shell));
    if (quote == 0 && is_any_of(c, blanks)) {
      in_word = false;
      continue;
    }
    if (!in_word) result.words.emplace_back();
    in_word = true;
    if (quote != 0 && c == quote) quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"')) quote = c;
    else result.words.back() += c;
  }
  if (quote != 0) throw std::invalid_argument("a quote is not closed: " + line);
  return result;
}

bool is_read_as_itself(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || is_any_of(static_cast<char>(c), "_-+=.,:/%@^");
  };
  return !word.empty() && std::all_of(word.begin(), word.end(), is_plain);
}

/// A variable in front of the program.
bool is_assignment(const std::string& word) { return word.find('=') != std::string::npos; }

/// Returns: the number of letters to insert, delete or replace.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string joined(const std::vector<std::string>& words, const char* separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> all;
  for (std::string& s : strings) all.push_back(s.data());
  all.push_back(nullptr);
  return all;
}

std::string quoted(const std::string& word) {
  std::string all = "'";
  for (const char c : word) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return all + "'";
}

std::string shell_word(const std::string& word) { return is_read_as_itself(word) ? word : quoted(word); }

std::string shell_line(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words)
    all += all.empty() && is_assignment(word) ? quoted(word) : (all.empty() ? "" : " ") + shell_word(word);
  return all;
}

std::vector<std::string> command_words(const std::string& line) {
  const words_and_need found = split(line);
  if (found.words.empty()) throw std::invalid_argument("an empty command");
  if (found.needs_shell || is_assignment(found.words.front())) return {"/bin/sh", "-c", line};
  return found.words;
}

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  std::size_t least = word.size() / 3 + 1;  // a third of the letters may be wrong
  std::string nearest;
  for (const std::string& candidate : known) {
    const std::size_t d = distance(word, candidate);
    if (d > least || (d == least && !nearest.empty())) continue;
    least = d;
    nearest = candidate;
  }
  return nearest.empty() ? nearest : "; did you mean '" + nearest + "'?";
}

}  // namespace ashlar::cli
