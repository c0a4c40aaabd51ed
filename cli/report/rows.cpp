// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sorts values into rows.
#include "cli/report/rows.hpp"

#include <algorithm>
#include <limits>

namespace ashlar::cli {

std::vector<std::uint64_t> binary_boundaries(std::uint64_t factor) {
  std::vector<std::uint64_t> all = {0};
  for (std::uint64_t b = 1; b < std::uint64_t{1} << 62; b *= factor) all.push_back(b);
  return all;
}

std::vector<std::uint64_t> decimal_boundaries(bool decades) {
  std::vector<std::uint64_t> all = {0};
  for (std::uint64_t b = 1; b < 1'000'000'000'000'000'000u; b *= 10) {
    all.push_back(b);
    if (!decades) all.insert(all.end(), {2 * b, 5 * b});
  }
  return all;
}

void row_builder::add(std::uint64_t value, std::uint64_t count, double bytes) {
  const auto above = std::upper_bound(boundaries_.begin(), boundaries_.end(), value);
  const auto index = static_cast<std::size_t>(above - boundaries_.begin()) - 1;
  const auto [it, is_new] = rows_.try_emplace(index, empty_row(index));
  it->second.count += count;
  it->second.bytes += bytes;
}

histogram_row row_builder::empty_row(std::size_t index) const {
  const bool last = index + 1 == boundaries_.size();
  return {boundaries_[index], last ? std::numeric_limits<std::uint64_t>::max() : boundaries_[index + 1] - 1, 0, 0};
}

std::vector<histogram_row> row_builder::rows() const {
  std::vector<histogram_row> all;
  if (rows_.empty()) return all;
  for (std::size_t i = rows_.begin()->first; i <= rows_.rbegin()->first; ++i) {
    const auto found = rows_.find(i);
    all.push_back(found == rows_.end() ? empty_row(i) : found->second);
  }
  return all;
}

}  // namespace ashlar::cli
