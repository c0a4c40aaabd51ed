// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The median of paired rounds with the exact interval of the sign test, which is free of assumptions about the noise.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace ashlar::cli {

/// Returns: the median, 0 of no values.
[[nodiscard]] inline double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Returns: the greatest k for which the k-th least and the k-th greatest of n values enclose the median of their
/// distribution with an error of at most `error`; 0 if n values are too few for any k.
///
/// Each value lies above the median with probability 1/2, so the error of k is 2 P(B < k), B binomial (n, 1/2): exactly
/// without ties, less with ties. See W. R. Thompson, Annals of Mathematical Statistics 7 (1936) 122; Hollander, Wolfe,
/// Chicken, Nonparametric Statistical Methods, 3rd edition, section 3.6. The interval requires independent rounds, not
/// symmetric ones as the signed-rank interval does. Expects: n <= 1000.
[[nodiscard]] inline std::size_t sign_rank(std::size_t n, double error) {
  double term = std::ldexp(1.0, -static_cast<int>(n));
  double below = term;
  std::size_t k = 0;
  while (k < n / 2 && 2 * below <= error) {
    ++k;
    term *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    below += term;
  }
  return k;
}

/// Returns: the fewest values that have an interval at all.
[[nodiscard]] inline std::size_t least_rounds(double error) {
  std::size_t n = 2;
  while (std::ldexp(2.0, -static_cast<int>(n)) > error) ++n;
  return n;
}

struct median_interval {
  double median = 0;
  double least = -std::numeric_limits<double>::infinity();
  double greatest = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool bounded() const noexcept { return std::isfinite(least) && std::isfinite(greatest); }
};

/// Returns: the median and its interval, unbounded if the values are too few for `error`.
[[nodiscard]] inline median_interval interval_of(std::vector<double> values, double error) {
  median_interval result;
  result.median = median_of(values);
  const std::size_t k = sign_rank(values.size(), error);
  if (k == 0) return result;
  std::sort(values.begin(), values.end());
  result.least = values[k - 1];
  result.greatest = values[values.size() - k];
  return result;
}

}  // namespace ashlar::cli
