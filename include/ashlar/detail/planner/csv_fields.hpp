// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lines, fields and numbers of a CSV file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/problem.hpp>

namespace ashlar::ASHLAR_ABI::detail::planner {

enum class number_fault { none, empty, negative, sign, not_whole, too_large };

[[nodiscard]] constexpr std::string_view describe(number_fault f) noexcept {
  switch (f) {
    case number_fault::none: return "";
    case number_fault::empty: return " is empty";
    case number_fault::negative: return " is negative";
    case number_fault::sign: return " has a sign";
    case number_fault::not_whole: return " is not a whole number";
    case number_fault::too_large: return " does not fit 64 bits";
  }
  return "";
}

/// Digits and nothing else.
[[nodiscard]] inline number_fault parse_number(std::string_view text, std::uint64_t& out) noexcept {
  if (text.empty()) return number_fault::empty;
  const bool digits_follow = text.size() > 1 && text[1] >= '0' && text[1] <= '9';
  if (text[0] == '-') return digits_follow ? number_fault::negative : number_fault::not_whole;
  if (text[0] == '+') return digits_follow ? number_fault::sign : number_fault::not_whole;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return number_fault::not_whole;
  out = 0;
  for (const char c : text) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (out > (~std::uint64_t{0} - digit) / 10) return number_fault::too_large;
    out = out * 10 + digit;
  }
  return number_fault::none;
}

/// Returns: the text, shortened; characters beyond plain ASCII become `?`.
[[nodiscard]] inline std::string printable(std::string_view text) {
  constexpr std::size_t most = 24;
  std::string out;
  for (const char c : text.substr(0, most)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > most ? "..." : "");
}

[[nodiscard]] inline std::string quoted(std::string_view text) { return '"' + printable(text) + '"'; }

/// Returns: the position of the first repeated name, or nothing. Complexity: O(n log n).
[[nodiscard]] inline std::optional<std::size_t> repeated_name(std::span<const std::string> names) {
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return names[a] != names[b] ? names[a] < names[b] : a < b; });
  for (std::size_t k = 1; k < order.size(); ++k)
    if (names[order[k]] == names[order[k - 1]]) return order[k];
  return std::nullopt;
}

/// `begin-end` or `begin-end@low:high`.
[[nodiscard]] inline bool parse_gap(std::string_view text, gap& g) noexcept {
  const auto number = [](std::string_view t, std::uint64_t& out) { return parse_number(t, out) == number_fault::none; };
  const std::size_t at = std::min(text.find('@'), text.size());
  const std::string_view time = text.substr(0, at);
  const std::size_t dash = time.find('-');
  if (dash == time.npos || !number(time.substr(0, dash), g.begin) || !number(time.substr(dash + 1), g.end))
    return false;
  if (at == text.size()) return true;
  const std::string_view window = text.substr(at + 1);
  const std::size_t colon = window.find(':');
  return colon != window.npos && number(window.substr(0, colon), g.low) && number(window.substr(colon + 1), g.high);
}

[[nodiscard]] inline std::string format_gap(const gap& g, bool first) {
  std::string out = first ? "" : " ";
  out += std::to_string(g.begin) + '-' + std::to_string(g.end);
  if (g.low < g.high) out += '@' + std::to_string(g.low) + ':' + std::to_string(g.high);
  return out;
}

/// Lines without their ends (LF or CR LF); a byte order mark at the start of the file is skipped.
class csv_lines {
public:
  explicit csv_lines(std::string_view text) : rest_(text) {
    if (rest_.substr(0, 3) == "\xEF\xBB\xBF") rest_.remove_prefix(3);
  }

  [[nodiscard]] bool next() noexcept {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
    ++number_;
    return true;
  }

  [[nodiscard]] std::string_view line() const noexcept { return line_; }
  [[nodiscard]] std::size_t number() const noexcept { return std::max<std::size_t>(number_, 1); }

private:
  std::string_view rest_;
  std::string_view line_;
  std::size_t number_ = 0;
};

/// The fields of a line, without blanks at their ends.
class csv_fields {
public:
  explicit csv_fields(std::string_view line) noexcept : line_(line) {}

  [[nodiscard]] bool next() noexcept {
    if (begin_ > line_.size()) return false;
    const std::size_t end = std::min(line_.find(',', begin_), line_.size());
    field_ = line_.substr(begin_, end - begin_);
    column_ = begin_ + 1;
    begin_ = end + 1;
    for (; !field_.empty() && blank(field_.front()); ++column_) field_.remove_prefix(1);
    while (!field_.empty() && blank(field_.back())) field_.remove_suffix(1);
    return true;
  }

  [[nodiscard]] std::string_view field() const noexcept { return field_; }
  [[nodiscard]] std::size_t column() const noexcept { return column_; }

private:
  [[nodiscard]] static bool blank(char c) noexcept { return c == ' ' || c == '\t'; }

  std::string_view line_;
  std::string_view field_;
  std::size_t begin_ = 0;
  std::size_t column_ = 1;
};

}  // namespace ashlar::ASHLAR_ABI::detail::planner
