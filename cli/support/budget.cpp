// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Seconds or minutes.
#include "cli/support/budget.hpp"

#include <charconv>
#include <system_error>

namespace ashlar::cli {

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
