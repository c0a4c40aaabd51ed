// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Formats quantities for people, and reads theirs.
#include "cli/support/table_units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <system_error>

#include <fmt/format.h>

namespace ashlar::cli {

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

}  // namespace ashlar::cli
