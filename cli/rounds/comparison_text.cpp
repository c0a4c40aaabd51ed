// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rounds comparisons to the precision of their intervals.
#include "cli/rounds/comparison_text.hpp"

#include <cmath>

#include <fmt/format.h>

#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

/// One decimal below ten percent, none above.
std::string points(double value) {
  const double percent = std::round(10 * value) / 10 + 0.0;  // no -0.0
  return std::abs(percent) < 9.95 ? fmt::format("{:.1f}", percent) : fmt::format("{:.0f}", percent);
}

}  // namespace

std::string relative_change(const median_interval& ratio, const char* what) {
  const bool less = ratio.median < 1;
  const auto share = [less](double r) { return points(100 * (less ? 1 - r : r - 1)); };
  const std::string range = fmt::format(" ({} to {})", share(less ? ratio.greatest : ratio.least),
                                        share(less ? ratio.least : ratio.greatest));
  return fmt::format("{} % {} {}{}", share(ratio.median), less ? "less" : "more", what, ratio.bounded() ? range : "");
}

std::string signed_change(const median_interval& ratio) {
  const auto share = [](double r) { return (r > 1 ? "+" : "") + points(100 * (r - 1)); };
  if (!ratio.bounded()) return share(ratio.median) + " %";
  return fmt::format("{} % ({} to {})", share(ratio.median), share(ratio.least), share(ratio.greatest));
}

std::string bytes_change(double from, double to) {
  const std::string a = human_bytes(from), b = human_bytes(to);
  const std::size_t unit = a.find(' ');
  if (unit != a.npos && b.ends_with(a.substr(unit))) return a.substr(0, unit) + " -> " + b;
  return a + " -> " + b;
}

std::string more_rounds(std::size_t wanted, const rounds_played& played, const char* option) {
  if (wanted > most_rounds) return "more than " + counted(most_rounds, "repetition");
  const double each = played.rounds == 0 ? 0 : played.seconds / static_cast<double>(played.rounds);
  const double seconds = std::ceil(1.1 * each * static_cast<double>(wanted)) + 1;
  return fmt::format("about {} ({} {:.0f})", counted(wanted, "repetition"), option, seconds);
}

}  // namespace ashlar::cli
