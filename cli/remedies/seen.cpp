// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The trials differ in noise, so the median stands for one more.
#include "cli/remedies/seen.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cli/rounds/interval.hpp"
#include "cli/verify/text.hpp"

namespace ashlar::cli {

std::optional<seen_effect> seen_effect_of(const remedy_measurement& m) {
  std::vector<double> all;
  for (const group_effect& group : m.groups) all.push_back(group.detectable);
  if (!all.empty()) return seen_effect{median_of(all), m.group_pairs, true};
  std::vector<double> pairs;
  for (const remedy_effect& e : m.remedies) {
    if (!e.failure.empty() || e.deciding().effect.pairs < std::max<std::size_t>(m.least_rounds_of(e), 2)) continue;
    all.push_back(e.deciding().effect.detectable());
    pairs.push_back(static_cast<double>(e.deciding().effect.pairs));
  }
  if (all.empty()) return std::nullopt;
  return seen_effect{median_of(all), static_cast<std::size_t>(median_of(pairs)), false};
}

std::string seen_text(double detectable) {
  if (shows_multiples_alone(detectable))
    return "neither twice nor half the time would have been seen: the runs vary too much";
  return fmt::format("anything above {} would have been seen", share_text(detectable));
}

}  // namespace ashlar::cli
