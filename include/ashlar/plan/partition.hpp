// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts of a model that share no section, and can be planned one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/alias_groups.hpp>
#include <ashlar/plan/model.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

namespace detail {

/// Gives each run of sections that pieces span without a cut the same number.
[[nodiscard]] inline std::vector<std::uint32_t> number_runs(const model& m) {
  std::vector<std::int64_t> crossing(m.sections + std::size_t{1}, 0);
  for (const piece& p : m.pieces) {
    ++crossing[p.first];
    --crossing[p.last - 1];
  }
  std::vector<std::uint32_t> run(m.sections, 0);
  std::int64_t open = 0;
  for (std::uint32_t t = 0; t + 1 < m.sections; ++t) {
    open += crossing[t];
    run[t + 1] = run[t] + (open == 0);
  }
  return run;
}

}  // namespace detail

/// Returns: the origins (shapes) of the items, part by part, in the order of time. Items without a piece stand alone
/// in no part. Complexity: O(n) but for inverse Ackermann.
[[nodiscard]] inline std::vector<std::vector<std::uint32_t>> partition(const model& m) {
  const std::vector<std::uint32_t> run = detail::number_runs(m);
  disjoint_sets parts(run.empty() ? 0 : run.back() + std::size_t{1});
  for (std::size_t i = 0; i < m.items.size(); ++i)
    for (const piece* p = m.begin(i); p != m.end(i); ++p) parts.unite(run[m.begin(i)->first], run[p->first]);
  std::vector<std::vector<std::uint32_t>> all(run.empty() ? 0 : run.back() + std::size_t{1});
  for (std::size_t i = 0; i < m.items.size(); ++i)
    if (m.begin(i) != m.end(i)) all[parts.find(run[m.begin(i)->first])].push_back(m.items[i].origin);
  std::vector<std::vector<std::uint32_t>> result;
  for (auto& part : all)
    if (!part.empty()) result.push_back(std::move(part));
  return result;
}

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
