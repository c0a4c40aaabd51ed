// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges of addresses in order, and the one with an address.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ashlar::cli {

template <class Range>
void sort_by_begin(std::vector<Range>& all) {
  std::sort(all.begin(), all.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

/// Returns: the range with `address`, or null. Expects: they are sorted and do not overlap.
template <class Ranges>
[[nodiscard]] auto* range_with(Ranges& all, std::uint64_t address) {
  const auto above =
      std::upper_bound(all.begin(), all.end(), address, [](std::uint64_t a, const auto& r) { return a < r.begin; });
  return above == all.begin() || address >= (above - 1)->end ? nullptr : &*(above - 1);
}

}  // namespace ashlar::cli
