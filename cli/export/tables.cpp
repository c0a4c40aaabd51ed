// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables with a row for each stack, or for each site; as lines of JSON, CSV and Parquet.
#include <map>

#include <nlohmann/json.hpp>

#include "cli/export/formats.hpp"
#include "cli/export/table.hpp"

namespace ashlar::cli {

namespace {

struct site_row {
  profile_call site;
  std::string stack;  ///< Empty in a table of sites.
  std::uint64_t stacks = 0;
  stack_amounts sum;
};

std::vector<site_row> rows_of(const stack_profile& profile, bool by_site) {
  std::vector<site_row> rows;
  std::map<profile_call, site_row> sites;
  for (const profile_stack& stack : profile.stacks) {
    if (!by_site) rows.push_back({stack.site, folded_stack(profile, stack), 1, stack.sum});
    site_row& site = sites[stack.site];
    site.site = stack.site;
    ++site.stacks;
    site.sum += stack.sum;
  }
  if (by_site)
    for (auto& [call, site] : sites) rows.push_back(std::move(site));
  return rows;
}

/// Adds columns to a table, each by the entry of a row.
class table_maker {
public:
  explicit table_maker(const std::vector<site_row>& rows) : rows_(rows) { table_.rows = rows.size(); }

  template <class F>
  void text(const char* name, F&& of) {
    flat_column& column = table_.columns.emplace_back(flat_column{name, true});
    for (const site_row& row : rows_) column.texts.push_back(of(row));
  }
  template <class F>
  void number(const char* name, F&& of) {
    flat_column& column = table_.columns.emplace_back(flat_column{name});
    for (const site_row& row : rows_) column.numbers.push_back(of(row));
  }

  [[nodiscard]] flat_table finish() { return std::move(table_); }

private:
  const std::vector<site_row>& rows_;
  flat_table table_;
};

flat_table table_of(const stack_profile& profile, bool by_site) {
  const std::vector<site_row> rows = rows_of(profile, by_site);
  table_maker table(rows);
  const auto function = [&](const site_row& row) -> const profile_function& {
    return profile.functions[row.site.function];
  };
  table.text("program", [&](const site_row&) { return profile.program; });
  table.text("build_id", [&](const site_row&) { return profile.build_id; });
  table.number("process", [&](const site_row&) { return profile.info.process; });
  table.number("start_unix_ns", [&](const site_row&) { return profile.info.start_unix_ns; });
  table.text("function", [&](const site_row& row) { return function(row).name; });
  table.text("file", [&](const site_row& row) { return function(row).file; });
  table.number("line", [](const site_row& row) { return static_cast<std::uint64_t>(row.site.line); });
  table.text("module", [&](const site_row& row) { return function(row).module; });
  if (by_site) table.number("stacks", [](const site_row& row) { return row.stacks; });
  else table.text("stack", [](const site_row& row) { return row.stack; });
  for (const stack_value& value : stack_values)
    table.number(value.name, [&](const site_row& row) { return value.of(row.sum); });
  table.number("lifetime_ns", [](const site_row& row) { return row.sum.lifetime_ns; });
  return table.finish();
}

/// Returns: the text, in quotes if a reader of CSV would not take it as it is.
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell.append(c == '"' ? 2 : 1, c);
  return cell + '"';
}

/// Effects: appends a line of one text for each column, separated by commas.
template <class Cell>
void append_line(std::string& to, const flat_table& table, Cell&& cell) {
  const char* separator = "";
  for (const flat_column& column : table.columns) {
    to += separator;
    to += cell(column);
    separator = ",";
  }
}

}  // namespace

std::string csv_file(const stack_profile& profile, const export_request& request) {
  const flat_table table = table_of(profile, request.by_site);
  std::string all;
  append_line(all, table, [](const flat_column& column) { return column.name; });
  all += '\n';
  for (std::size_t row = 0; row < table.rows; ++row) {
    append_line(all, table, [row](const flat_column& column) {
      return column.is_text ? csv_cell(column.texts[row]) : std::to_string(column.numbers[row]);
    });
    all += '\n';
  }
  return all;
}

std::string jsonl_file(const stack_profile& profile, const export_request& request) {
  const flat_table table = table_of(profile, request.by_site);
  std::string all;
  for (std::size_t row = 0; row < table.rows; ++row) {
    all += '{';
    append_line(all, table, [row](const flat_column& column) {
      const std::string number = column.is_text ? "" : std::to_string(column.numbers[row]);
      return '"' + column.name + "\":" + (column.is_text ? nlohmann::json(column.texts[row]).dump() : number);
    });
    all += "}\n";
  }
  return all;
}

std::string parquet_file(const stack_profile& profile, const export_request& request) {
  return parquet_bytes(table_of(profile, request.by_site));
}

}  // namespace ashlar::cli
