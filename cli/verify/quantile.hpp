// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The 99th percentile of values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ashlar::cli {

/// Returns: the least value that 99 % of them do not exceed; 0 of none.
[[nodiscard]] inline double nearest_rank_99(std::vector<double> values) {
  if (values.empty()) return 0;
  const std::size_t rank = (values.size() * 99 + 99) / 100;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace ashlar::cli
