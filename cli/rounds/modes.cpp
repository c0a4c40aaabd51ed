// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tries each place of a split in the sorted values, and takes the one with the least variance within both groups.
#include "cli/rounds/modes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ashlar::cli {

namespace {

constexpr double least_deviations = 6;
constexpr double least_gap = 0.4;
constexpr double least_share = 0.15;
constexpr std::size_t least_runs = 3;

struct split {
  std::size_t low_runs = 0;
  double low = 0;  ///< Centres, in logarithms.
  double high = 0;
  double squares = std::numeric_limits<double>::infinity();  ///< Of the distances to the centres.
};

/// Sums of the first values, from which a group's variance follows.
class running_sums {
public:
  explicit running_sums(const std::vector<double>& values) : sums_{0}, squares_{0} {
    for (const double v : values) {
      sums_.push_back(sums_.back() + v);
      squares_.push_back(squares_.back() + v * v);
    }
  }

  [[nodiscard]] double centre(std::size_t from, std::size_t to) const {
    return (sums_[to] - sums_[from]) / static_cast<double>(to - from);
  }
  [[nodiscard]] double squares(std::size_t from, std::size_t to) const {
    const double c = centre(from, to);
    return std::max(0.0, squares_[to] - squares_[from] - static_cast<double>(to - from) * c * c);
  }

private:
  std::vector<double> sums_;
  std::vector<double> squares_;
};

split best_split(const std::vector<double>& sorted) {
  const running_sums sums(sorted);
  const std::size_t n = sorted.size();
  split best;
  for (std::size_t k = 1; k < n; ++k) {
    const double squares = sums.squares(0, k) + sums.squares(k, n);
    if (squares < best.squares) best = {k, sums.centre(0, k), sums.centre(k, n), squares};
  }
  return best;
}

bool are_modes(const split& s, const std::vector<double>& sorted) {
  const std::size_t n = sorted.size(), fewer = std::min(s.low_runs, n - s.low_runs);
  const double distance = s.high - s.low;
  const double within = std::sqrt(s.squares / static_cast<double>(n - 2));
  return fewer >= least_runs && static_cast<double>(fewer) >= least_share * static_cast<double>(n) && distance > 1e-9 &&
         distance >= least_deviations * within && sorted[s.low_runs] - sorted[s.low_runs - 1] >= least_gap * distance;
}

}  // namespace

std::optional<two_modes> modes_of(const std::vector<double>& values) {
  if (values.size() < least_runs_for_modes) return std::nullopt;
  std::vector<double> logs;
  for (const double v : values) logs.push_back(std::log(std::max(v, std::numeric_limits<double>::min())));
  std::sort(logs.begin(), logs.end());
  const split best = best_split(logs);
  if (!are_modes(best, logs)) return std::nullopt;
  return two_modes{{std::exp(best.low), best.low_runs}, {std::exp(best.high), logs.size() - best.low_runs}};
}

}  // namespace ashlar::cli
