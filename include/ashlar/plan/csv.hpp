// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads and writes problems and layouts as the CSV files that planners exchange (MiniMalloc's format).
//
//   id,lower,upper,size[,alignment][,gaps][,offset]      live in [lower, upper)
//   id,start,end,size[...]                               older: `end` is the last moment of use
//   gaps: "7-9 12-15@0:64"                               dead in [7, 9); only bytes [0, 64) kept in [12, 15)
//
// Columns come in any order. `hint` is ignored. `begin` is `start`. An id is a whole number or any other text. If one
// id of a file is text, all of them are names, and the buffers are numbered by their positions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/layout.hpp>
#include <ashlar/base/problem.hpp>

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

namespace ashlar::ASHLAR_ABI {
namespace plan {

/// Kinds of malformed files.
enum class csv_fault {
  no_header,
  unknown_column,
  repeated_column,
  missing_column,
  empty_line,
  missing_field,
  extra_field,
  not_a_number,
  number_too_large,
  bad_gap,
  bad_buffer
};

/// The place and the reason of a malformed file. Lines and columns count from 1; columns are bytes.
struct csv_error {
  csv_fault kind = csv_fault::no_header;
  std::size_t line = 1;
  std::size_t column = 1;
  std::optional<std::uint64_t> id;  ///< The id of the buffer at fault, if it was read.
  std::string name;                 ///< Its name, if the id is not a number.
  std::string message;

  /// Returns: `line 3, column 7, buffer 12: "1e9" is not a whole number`.
  [[nodiscard]] std::string text() const {
    std::string out = "line " + std::to_string(line) + ", column " + std::to_string(column);
    if (!name.empty()) out += ", buffer " + name;
    else if (id) out += ", buffer " + std::to_string(*id);
    return out + ": " + message;
  }
};

/// The content of a file. `offsets` is empty without a column of that name.
struct csv_document {
  problem content;
  std::vector<std::uint64_t> offsets;
  std::vector<std::size_t> lines;  ///< The line of each buffer, counted from 1.
  std::vector<std::string> names;  ///< Name of each buffer; its id is its position. Empty if all ids are numbers.
};

/// A document, or an error if `error` is set.
struct csv_result {
  csv_document document;
  std::optional<csv_error> error;
  [[nodiscard]] bool ok() const noexcept { return !error; }
};

}  // namespace plan

namespace detail::planner {

using plan::csv_document;
using plan::csv_error;
using plan::csv_fault;
using plan::csv_result;

enum class csv_column : std::uint8_t { id, lower, upper, size, alignment, gaps, offset, ignored };

struct csv_header {
  std::vector<csv_column> columns;
  std::vector<std::string_view> names;  // as the file spells them
  bool inclusive = false;               // the upper end is the last moment of use
};

[[nodiscard]] inline std::optional<csv_column> column_named(std::string_view name) noexcept {
  if (name == "id") return csv_column::id;
  if (name == "lower" || name == "start" || name == "begin") return csv_column::lower;
  if (name == "upper" || name == "end") return csv_column::upper;
  if (name == "size") return csv_column::size;
  if (name == "alignment") return csv_column::alignment;
  if (name == "gaps") return csv_column::gaps;
  if (name == "offset") return csv_column::offset;
  if (name == "hint") return csv_column::ignored;
  return std::nullopt;
}

/// Parses one file line by line.
class csv_parser {
public:
  explicit csv_parser(std::string_view text) : lines_(text) {}

  [[nodiscard]] csv_result run() {
    if (read_header())
      while (!result_.error && lines_.next()) read_row();
    if (!result_.error) check_content();
    if (result_.error) result_.document = {};  // no partial plan
    return std::move(result_);
  }

private:
  bool fail(csv_fault kind, std::size_t column, std::string message) {
    csv_error e{kind, lines_.number(), column, id_, id_ ? std::string() : printable(name_), std::move(message)};
    if (!result_.error) result_.error = std::move(e);
    return false;
  }

  bool read_header() {
    if (!lines_.next()) return fail(csv_fault::no_header, 1, "the file is empty");
    if (is_row(lines_.line()))
      return fail(csv_fault::no_header, 1, "the header is missing: a first line as \"id,lower,upper,size\"");
    csv_fields fields(lines_.line());
    while (fields.next()) {
      const auto column = column_named(fields.field());
      if (!column) return fail(csv_fault::unknown_column, fields.column(), "unknown column " + quoted(fields.field()));
      if (fields.field() == "end") header_.inclusive = true;
      if (*column != csv_column::ignored && has(*column))
        return fail(csv_fault::repeated_column, fields.column(), "a second column " + quoted(fields.field()));
      header_.columns.push_back(*column);
      header_.names.push_back(fields.field());
    }
    for (const auto& [column, name] : {std::pair{csv_column::id, "id"}, std::pair{csv_column::lower, "lower"},
                                       std::pair{csv_column::upper, "upper"}, std::pair{csv_column::size, "size"}})
      if (!has(column)) return fail(csv_fault::missing_column, 1, std::string("there is no column \"") + name + '"');
    return true;
  }

  // A line with numbers and without the name of a column is a row.
  [[nodiscard]] static bool is_row(std::string_view line) {
    bool has_number = false;
    for (csv_fields fields(line); fields.next();) {
      if (column_named(fields.field())) return false;
      has_number = has_number || (!fields.field().empty() && fields.field()[0] >= '0' && fields.field()[0] <= '9');
    }
    return has_number;
  }

  [[nodiscard]] bool has(csv_column c) const {
    return std::find(header_.columns.begin(), header_.columns.end(), c) != header_.columns.end();
  }

  bool read_row() {
    id_.reset();
    name_ = {};
    row_ = buffer{};
    offset_ = 0;
    gaps_ = {};
    if (lines_.line().empty()) return fail(csv_fault::empty_line, 1, "the line is empty");
    csv_fields fields(lines_.line());
    std::size_t count = 0;
    for (; fields.next(); ++count) {
      if (count == header_.columns.size())
        return fail(csv_fault::extra_field, fields.column(), "more fields than the header has columns");
      field_name_ = header_.names[count];
      if (!read_field(header_.columns[count], fields)) return false;
    }
    if (count < header_.columns.size())
      return fail(csv_fault::missing_field, lines_.line().size() + 1, "fewer fields than the header has columns");
    return add_row();
  }

  bool read_field(csv_column c, const csv_fields& fields) {
    switch (c) {
      case csv_column::ignored: return true;
      case csv_column::gaps:
        gaps_ = fields.field();
        gaps_column_ = fields.column();
        return true;
      case csv_column::id: return read_id(fields);
      case csv_column::lower: return number(fields, row_.birth);
      case csv_column::upper: return number(fields, row_.death) && close_end(fields, row_.death);
      case csv_column::size: return number(fields, row_.size);
      case csv_column::alignment: return number(fields, row_.alignment);
      case csv_column::offset: return number(fields, offset_);
    }
    return true;
  }

  bool read_id(const csv_fields& fields) {
    std::uint64_t id = 0;
    if (fields.field().empty()) return number(fields, id);
    name_ = fields.field();
    if (parse_number(name_, id) == number_fault::none) id_ = row_.id = id;
    else named_ = true;
    return true;
  }

  bool number(const csv_fields& fields, std::uint64_t& out) {
    const number_fault f = parse_number(fields.field(), out);
    if (f == number_fault::none) return true;
    const std::string what = f == number_fault::empty ? "the field " + quoted(field_name_) : quoted(fields.field());
    return fail(f == number_fault::too_large ? csv_fault::number_too_large : csv_fault::not_a_number, fields.column(),
                what + std::string(describe(f)));
  }

  bool close_end(const csv_fields& fields, std::uint64_t& end) {
    if (!header_.inclusive) return true;
    if (end == ~std::uint64_t{0})
      return fail(csv_fault::number_too_large, fields.column(), "the end does not fit 64 bits");
    ++end;
    return true;
  }

  bool add_row() {
    csv_document& d = result_.document;
    if (const auto defect = defect_of(row_)) return fail(csv_fault::bad_buffer, 1, std::string(describe(*defect)));
    const auto at = static_cast<position>(d.content.buffers.size());
    d.content.buffers.push_back(row_);
    d.lines.push_back(lines_.number());
    names_.push_back(name_);
    if (has(csv_column::offset)) d.offsets.push_back(offset_);
    return read_gaps(at);
  }

  bool read_gaps(position at) {
    std::size_t begin = 0;
    while (begin < gaps_.size()) {
      const std::size_t end = std::min(gaps_.find(' ', begin), gaps_.size());
      if (end != begin && !read_gap(at, gaps_.substr(begin, end - begin), gaps_column_ + begin)) return false;
      begin = end + 1;
    }
    return true;
  }

  bool read_gap(position at, std::string_view text, std::size_t column) {
    gap g;
    g.buffer = at;
    if (!parse_gap(text, g))
      return fail(csv_fault::bad_gap, column, quoted(text) + " is not a gap: begin-end or begin-end@low:high");
    if (header_.inclusive && ++g.end == 0)
      return fail(csv_fault::number_too_large, column, "the end does not fit 64 bits");
    if (const maybe_error e = check_gap(result_.document.content, g))
      return fail(csv_fault::bad_gap, column, std::string(describe(e->what)));
    result_.document.content.gaps.push_back(g);
    return true;
  }

  /// Finds the defects that concern several rows: repeated ids, sums, overlapping gaps.
  void check_content() {
    if (named_) adopt_names();
    const auto again = repeated_name(result_.document.names);
    if (again) return refuse(*again, defect::duplicate_id);
    if (const auto e = check(result_.document.content)) refuse(e->buffer, e->what);
  }

  void adopt_names() {
    csv_document& d = result_.document;
    d.names.assign(names_.begin(), names_.end());
    for (std::size_t i = 0; i < d.content.buffers.size(); ++i) d.content.buffers[i].id = i;
  }

  void refuse(std::size_t at, defect why) {
    const csv_document& d = result_.document;
    csv_error error{csv_fault::bad_buffer, 1, 1, std::nullopt, {}, std::string(describe(why))};
    if (at < d.content.buffers.size()) {
      error.line = d.lines[at];
      error.id = d.content.buffers[at].id;
      if (named_) error.name = printable(d.names[at]);
    }
    result_.error = std::move(error);
  }

  csv_lines lines_;
  csv_header header_;
  csv_result result_;
  std::optional<std::uint64_t> id_;
  std::string_view name_;                // of the row, as spelled in the file
  std::vector<std::string_view> names_;  // of all rows
  bool named_ = false;                   // some name is not a number
  buffer row_;
  std::uint64_t offset_ = 0;
  std::string_view field_name_;  // in the header
  std::string_view gaps_;
  std::size_t gaps_column_ = 0;
};

}  // namespace detail::planner

namespace plan {

/// Returns: the problem in `text`, or the place and reason of a fault. Complexity: O(n log n).
[[nodiscard]] inline csv_result parse_csv(std::string_view text) { return detail::planner::csv_parser(text).run(); }

/// Returns: the problem as CSV; with the offsets of a layout that has one per buffer; with `names` instead of ids.
/// Expects: as many names as buffers, or none; no name contains a comma, a line end, or blanks at its ends.
[[nodiscard]] inline std::string format_csv(const problem& p, const layout* l = nullptr,
                                            std::span<const std::string> names = {}) {
  const bool offsets = l != nullptr && l->offsets.size() == p.buffers.size();
  std::string out = "id,lower,upper,size,alignment";
  if (!p.gaps.empty()) out += ",gaps";
  out += offsets ? ",offset\n" : "\n";
  std::vector<std::string> gaps(p.gaps.empty() ? 0 : p.buffers.size());
  for (const gap& g : p.gaps) gaps[g.buffer] += detail::planner::format_gap(g, gaps[g.buffer].empty());
  for (std::size_t i = 0; i < p.buffers.size(); ++i) {
    const buffer& b = p.buffers[i];
    out += (names.empty() ? std::to_string(b.id) : names[i]) + ',';
    for (const std::uint64_t n : {b.birth, b.death, b.size}) out += std::to_string(n) + ',';
    out += std::to_string(b.alignment);
    if (!p.gaps.empty()) out += ',' + gaps[i];
    if (offsets) out += ',' + std::to_string(l->offsets[i]);
    out += '\n';
  }
  return out;
}

}  // namespace plan
}  // namespace ashlar::ASHLAR_ABI
