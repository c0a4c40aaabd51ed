// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Histograms in few rows with round boundaries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace ashlar::cli {

/// A bar of a histogram.
struct histogram_row {
  std::uint64_t least = 0;
  std::uint64_t greatest = 0;
  std::uint64_t count = 0;
  double bytes = 0;
};

/// Returns: 0, 1, 2, 4, 8, ...; with `factor` 4: 0, 1, 4, 16, ...
[[nodiscard]] std::vector<std::uint64_t> binary_boundaries(std::uint64_t factor = 2);
/// Returns: 0, 1, 2, 5, 10, 20, 50, ... or, if `decades`, 0, 1, 10, 100, ...
[[nodiscard]] std::vector<std::uint64_t> decimal_boundaries(bool decades = false);

/// Sorts values into rows between boundaries.
class row_builder {
public:
  /// Expects: ascending, from 0.
  explicit row_builder(std::vector<std::uint64_t> boundaries) : boundaries_(std::move(boundaries)) {}

  void add(std::uint64_t value, std::uint64_t count, double bytes = 0);
  /// Returns: the rows from the first to the last that is not empty.
  [[nodiscard]] std::vector<histogram_row> rows() const;

private:
  [[nodiscard]] histogram_row empty_row(std::size_t index) const;

  std::vector<std::uint64_t> boundaries_;
  std::map<std::size_t, histogram_row> rows_;
};

}  // namespace ashlar::cli
