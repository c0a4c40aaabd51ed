// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Paired comparisons in words: "14 % less time (9 to 19)", "-5.8 % (-6.6 to -4.9)", "24.5 -> 12.7 MiB".
#pragma once

#include <cstddef>
#include <string>

#include "cli/rounds/comparison.hpp"
#include "cli/rounds/rounds.hpp"

namespace ashlar::cli {

/// Returns: "14 % less time (9 to 19)".
[[nodiscard]] std::string relative_change(const median_interval& ratio, const char* what);
/// Returns: "-5.8 % (-6.6 to -4.9)", or "-5.8 %" if too few rounds give no interval.
[[nodiscard]] std::string signed_change(const median_interval& ratio);
/// Returns: "24.5 -> 12.7 MiB", or with both units if they differ.
[[nodiscard]] std::string bytes_change(double from, double to);
/// Returns: "about 40 repetitions (--budget 95)".
[[nodiscard]] std::string more_rounds(std::size_t wanted, const rounds_played& played, const char* option);

}  // namespace ashlar::cli
