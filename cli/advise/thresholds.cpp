// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Thresholds as text.
#include "cli/advise/thresholds.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ashlar::cli {

namespace {

std::string name_in(const std::string& text) { return text.substr(0, text.find('=')); }

/// Returns: its number in the table; the number of thresholds if there is none of the name.
std::size_t number_of(const std::string& name) {
  const auto at = std::ranges::find(advice_thresholds, std::string_view(name), &advice_threshold::name);
  return static_cast<std::size_t>(at - advice_thresholds.begin());
}

std::optional<double> value_in(const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == text.npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data() + at + 1, text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string check_threshold_text(const std::string& text) {
  const std::string name = name_in(text);
  const std::size_t number = number_of(name);
  if (number == advice_thresholds.size()) {
    std::vector<std::string_view> known;
    for (const advice_threshold& t : advice_thresholds) known.push_back(t.name);
    return fmt::format("there is no threshold '{}'; known are {}", name, fmt::join(known, ", "));
  }
  const auto value = value_in(text);
  const double most = advice_thresholds[number].most;
  if (value && *value >= 0 && *value <= most) return "";
  return fmt::format("'{}' is not {}=VALUE with a number from 0 to {:g}", text, name, most);
}

void set_threshold(advice_limits& limits, const std::string& text) {
  limits.at(number_of(name_in(text))) = *value_in(text);
}

std::map<std::string, double> all_thresholds(const advice_limits& limits) {
  std::map<std::string, double> all;
  for (std::size_t i = 0; i < advice_thresholds.size(); ++i) all[std::string(advice_thresholds[i].name)] = limits.at(i);
  return all;
}

std::map<std::string, double> changed_thresholds(const advice_limits& limits) {
  std::map<std::string, double> changed = all_thresholds(limits);
  std::erase_if(changed,
                [](const auto& each) { return advice_thresholds[number_of(each.first)].standard == each.second; });
  return changed;
}

}  // namespace ashlar::cli
