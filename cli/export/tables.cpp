// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables with a row for each stack, or for each site; as lines of JSON, CSV and Parquet.
#include <map>

#include "cli/export/formats.hpp"
#include "cli/export/table.hpp"
#include "cli/support/text.hpp"

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

const profile_function& function_of(const stack_profile& profile, const site_row& row) {
  return profile.functions[row.site.function];
}

/// A column, by its entry of a row: a text or else a number.
struct table_column {
  const char* name;
  std::string (*text)(const stack_profile&, const site_row&);
  std::uint64_t (*number)(const stack_profile&, const site_row&);
};

std::vector<table_column> columns_of(bool by_site) {
  using p = const stack_profile&;
  using r = const site_row&;
  return {{"program", [](p profile, r) { return profile.program; }, nullptr},
          {"build_id", [](p profile, r) { return profile.build_id; }, nullptr},
          {"process", nullptr, [](p profile, r) { return std::uint64_t{profile.info.process}; }},
          {"start_unix_ns", nullptr, [](p profile, r) { return profile.info.start_unix_ns; }},
          {"function", [](p profile, r row) { return function_of(profile, row).name; }, nullptr},
          {"file", [](p profile, r row) { return function_of(profile, row).file; }, nullptr},
          {"line", nullptr, [](p, r row) { return static_cast<std::uint64_t>(row.site.line); }},
          {"module", [](p profile, r row) { return function_of(profile, row).module; }, nullptr},
          by_site ? table_column{"stacks", nullptr, [](p, r row) { return row.stacks; }}
                  : table_column{"stack", [](p, r row) { return row.stack; }, nullptr}};
}

flat_table table_of(const stack_profile& profile, bool by_site) {
  const std::vector<site_row> rows = rows_of(profile, by_site);
  flat_table table{{}, rows.size()};
  for (const table_column& each : columns_of(by_site)) {
    flat_column& column = table.columns.emplace_back(flat_column{each.name, each.text != nullptr});
    for (const site_row& row : rows)
      if (column.is_text) column.texts.push_back(each.text(profile, row));
      else column.numbers.push_back(each.number(profile, row));
  }
  for (const stack_value& value : stack_values) {
    flat_column& column = table.columns.emplace_back(flat_column{value.name});
    for (const site_row& row : rows) column.numbers.push_back(value.of(row.sum));
  }
  flat_column& lifetimes = table.columns.emplace_back(flat_column{"lifetime_ns"});
  for (const site_row& row : rows) lifetimes.numbers.push_back(row.sum.lifetime_ns);
  return table;
}

/// Returns: the text, in quotes if a reader of CSV would not take it as it is.
std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell.append(c == '"' ? 2 : 1, c);
  return cell + '"';
}

/// Effects: appends the cells of a row, separated by commas, each behind its name if `named`.
void append_row(std::string& to, const flat_table& table, std::size_t row, bool named,
                std::string (*text)(const std::string&)) {
  for (const flat_column& column : table.columns) {
    if (&column != table.columns.data()) to += ',';
    if (named) to += '"' + column.name + "\":";
    to += column.is_text ? text(column.texts[row]) : std::to_string(column.numbers[row]);
  }
}

}  // namespace

std::string csv_file(const stack_profile& profile, const export_request& request) {
  const flat_table table = table_of(profile, request.by_site);
  std::vector<std::string> names;
  for (const flat_column& column : table.columns) names.push_back(column.name);
  std::string all = joined(names, ",") + '\n';
  for (std::size_t row = 0; row < table.rows; ++row) {
    append_row(all, table, row, false, csv_text);
    all += '\n';
  }
  return all;
}

std::string jsonl_file(const stack_profile& profile, const export_request& request) {
  const flat_table table = table_of(profile, request.by_site);
  std::string all;
  for (std::size_t row = 0; row < table.rows; ++row) {
    all += '{';
    append_row(all, table, row, true, json_text);
    all += "}\n";
  }
  return all;
}

std::string parquet_file(const stack_profile& profile, const export_request& request) {
  return parquet_bytes(table_of(profile, request.by_site));
}

}  // namespace ashlar::cli
