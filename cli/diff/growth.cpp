// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Limits on the growth of a program's figures.
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/budget/limits.hpp"
#include "cli/diff/diff.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

/// What "5%" or "1000" adds to a figure.
struct allowed_growth {
  double value = 0;
  bool is_share = false;

  [[nodiscard]] std::uint64_t most_from(std::uint64_t was) const {
    const double more = is_share ? static_cast<double>(was) * value / 100 : value;
    return was + static_cast<std::uint64_t>(more);
  }
};

/// Returns: the growth; nothing for another text, and for a part of a byte or of an allocation.
std::optional<allowed_growth> read_growth(std::string_view text) {
  allowed_growth growth;
  growth.is_share = text.ends_with('%');
  if (growth.is_share) text.remove_suffix(1);
  const bool is_number =
      !text.empty() && text.find_first_not_of(growth.is_share ? "0123456789." : "0123456789") == text.npos;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), growth.value);
  const bool is_read = is_number && error == std::errc() && end == text.data() + text.size() && growth.value < 1e15;
  return is_read ? std::optional(growth) : std::nullopt;
}

std::uint64_t figure_of(const diff_side& side, const std::string& figure) {
  if (figure == "allocations") return side.allocated.objects;
  if (figure == "bytes") return side.allocated.bytes;
  return figure == "peak_bytes" ? side.peak.bytes : side.live.bytes;
}

std::pair<std::string, std::string> halves_of(const std::string& text) {
  const std::size_t middle = std::min(text.find('='), text.size());
  return {text.substr(0, middle), text.substr(std::min(middle + 1, text.size()))};
}

}  // namespace

std::string check_growth(const std::string& text) {
  const auto [figure, growth] = halves_of(text);
  const std::vector<std::string>& known = figures_of(budget_subject::program);
  if (std::ranges::find(known, figure) == known.end())
    return fmt::format("unknown figure '{}'{}; known are {}", figure, suggestion(figure, known),
                       fmt::join(known, ", "));
  return read_growth(growth) ? "" : fmt::format("{}: '{}' is no growth such as 5% or 1000", figure, growth);
}

std::vector<growth_limit> growth_limits(const std::vector<std::string>& texts, const trace_diff& diff) {
  std::vector<growth_limit> all;
  for (const std::string& text : texts) {
    const auto [figure, growth] = halves_of(text);
    const std::uint64_t was = figure_of(diff.before, figure);
    all.push_back({figure, growth, was, figure_of(diff.after, figure), read_growth(growth).value().most_from(was)});
  }
  return all;
}

}  // namespace ashlar::cli
