// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts, bytes and shares in the sentences of advice.
#pragma once

#include <cstdint>
#include <string>

#include "cli/support/table_units.hpp"

namespace ashlar::cli {

[[nodiscard]] inline std::string in_bytes(std::uint64_t n) { return human_bytes(static_cast<double>(n)); }
[[nodiscard]] inline std::string in_words(std::uint64_t n) { return human_count(static_cast<double>(n)); }
/// Returns: the number, and its noun, with its verb if need be, as in `in_words(n, "object is", "objects are")`.
template <class... Forms>
[[nodiscard]] std::string in_words(std::uint64_t n, Forms... forms) {
  return human_count(static_cast<double>(n), forms...);
}
/// Returns: the percentage.
[[nodiscard]] inline std::string part_of(std::uint64_t some, std::uint64_t all) {
  return percent(static_cast<double>(some), static_cast<double>(all));
}

}  // namespace ashlar::cli
