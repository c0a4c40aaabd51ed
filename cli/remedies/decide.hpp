// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The choice among measured remedies.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "cli/remedies/experiment.hpp"

namespace ashlar::cli {

/// Returns: of those that `may` and did not fail, the remedy with the least mean of what decides.
template <class May>
[[nodiscard]] std::optional<std::size_t> best_of(const remedy_measurement& all, May may) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < all.remedies.size(); ++i) {
    const remedy_effect& e = all.remedies[i];
    if (!e.failure.empty() || e.deciding().effect.pairs == 0 || !may(e)) continue;
    if (!best || e.deciding().effect.log_ratio.mean < all.remedies[*best].deciding().effect.log_ratio.mean) best = i;
  }
  return best;
}

/// Returns: whether a remedy gains, or may do so: its mean is a gain of the threshold or more.
[[nodiscard]] bool is_promising(const remedy_measurement& all, double threshold);

/// Returns: libashlar.so alone, whose heap serves what a plan does not route; nothing if it was not measured.
[[nodiscard]] std::optional<std::size_t> heap_alone(const remedy_measurement& all);

/// Returns: the page policy of libashlar.so with the least mean, if that is a gain of the threshold or more over the
/// mean of libashlar.so alone.
[[nodiscard]] std::optional<std::size_t> page_policy_of(const remedy_measurement& all, double threshold);

/// Returns: whether there is such a remedy, and it did not fail.
[[nodiscard]] inline bool works(const remedy_measurement& all, const std::optional<std::size_t>& n) {
  return n && all.remedies[*n].failure.empty();
}

/// Effects: chooses the plan that is left: the smaller one, unless the whole one takes less; and compares it, and the
/// plan with a page policy, with the best without code. `compare`: of two confirmed remedies, the second against the
/// first.
void choose_plan(remedy_measurement& all, const std::function<comparison(std::size_t, std::size_t)>& compare);

/// Effects: decides, chooses the groups that are left of the plan, and sorts the remedies by their gain. A plan has to
/// gain over the best remedy without code, or to be the only one that gains.
void decide(remedy_measurement& all, double threshold);

}  // namespace ashlar::cli
