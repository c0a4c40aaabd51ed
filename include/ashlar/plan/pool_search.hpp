// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which items go to which pool: every assignment that the load does not exclude, each pool then planned exactly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/budget.hpp>
#include <ashlar/plan/layout.hpp>
#include <ashlar/plan/model.hpp>
#include <ashlar/plan/options.hpp>
#include <ashlar/plan/pools.hpp>
#include <ashlar/plan/problem.hpp>
#include <ashlar/plan/shape.hpp>
#include <ashlar/plan/space_planner.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

class pool_search {
public:
  pool_search(const model& whole, const shapes& all, const std::vector<pool>& pools, const options& wanted,
              budget& allowance, statistics& stats)
      : whole_(whole), all_(all), pools_(pools), wanted_(wanted), allowance_(allowance), stats_(stats),
        chosen_(pools.size()), loads_(pools.size(), std::vector<std::uint64_t>(whole.sections)) {
    for (std::uint32_t i = 0; i < whole.items.size(); ++i) order_.push_back(i);
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return whole_.items[a].size != whole_.items[b].size ? whole_.items[a].size > whole_.items[b].size : a < b;
    });
  }

  /// Deeper assignments would take too much time and stack.
  [[nodiscard]] static bool accepts(const model& m) noexcept { return m.items.size() <= 64; }

  /// Effects: on a fit writes offset and pool of every shape. Returns: `infeasible` once all has been tried,
  /// `unknown` if the budget ended before, here or in a pool.
  [[nodiscard]] status run(std::vector<std::uint64_t>& offsets, std::vector<std::uint32_t>& pool_of) {
    if (assign(0, offsets, pool_of)) return status::feasible;
    return given_up_ ? status::unknown : status::infeasible;
  }

private:
  [[nodiscard]] bool assign(std::size_t k, std::vector<std::uint64_t>& offsets, std::vector<std::uint32_t>& pool_of) {
    if (!allowance_.spend()) {
      given_up_ = true;
      return false;
    }
    ++stats_.nodes;
    if (k == order_.size()) return plan_each(offsets);
    const std::uint32_t i = order_[k];
    const item& x = whole_.items[i];
    for (std::uint32_t p = 0; p < pools_.size(); ++p) {
      if (!detail::allowed(all_.list[x.origin], p) || x.size > pools_[p].capacity || has_empty_twin(p)) continue;
      pool_of[x.origin] = p;
      chosen_[p].push_back(x.origin);
      const bool found = add(i, p, 1) && assign(k + 1, offsets, pool_of);
      if (found) return true;
      add(i, p, -1);
      chosen_[p].pop_back();
      if (allowance_.exhausted()) given_up_ = true;
      if (allowance_.exhausted()) return false;
    }
    return false;
  }

  /// Effects: counts the item in the load of the pool. Returns: whether the pool can bear it.
  bool add(std::uint32_t i, std::uint32_t p, int sign) {
    bool fits = true;
    for (const piece* q = whole_.begin(i); q != whole_.end(i); ++q)
      for (std::uint32_t t = q->first; t < q->last; ++t) {
        loads_[p][t] += sign > 0 ? q->high - q->low : q->low - q->high;
        fits = fits && loads_[p][t] <= pools_[p].capacity;
      }
    return fits;
  }

  /// Whether an earlier pool is as good: empty as well, as large, and open to the same shapes.
  [[nodiscard]] bool has_empty_twin(std::uint32_t p) const {
    if (!chosen_[p].empty()) return false;
    for (std::uint32_t q = 0; q < p; ++q) {
      const auto alike = [&](const shape& s) { return detail::allowed(s, p) == detail::allowed(s, q); };
      if (chosen_[q].empty() && pools_[q].capacity == pools_[p].capacity &&
          std::all_of(all_.list.begin(), all_.list.end(), alike))
        return true;
    }
    return false;
  }

  [[nodiscard]] bool plan_each(std::vector<std::uint64_t>& offsets) {
    for (std::uint32_t p = 0; p < pools_.size(); ++p) {
      options wanted = wanted_;
      wanted.capacity = pools_[p].capacity;
      wanted.on_progress = nullptr;
      const space_result r = space_planner(all_, chosen_[p], wanted, allowance_, stats_).run(offsets);
      if (r.placed && r.height <= pools_[p].capacity) continue;
      if (r.status != status::infeasible) given_up_ = true;
      return false;
    }
    return true;
  }

  const model& whole_;
  const shapes& all_;
  const std::vector<pool>& pools_;
  const options& wanted_;
  budget& allowance_;
  statistics& stats_;
  std::vector<std::uint32_t> order_;
  std::vector<std::vector<std::uint32_t>> chosen_;  // shapes, by pool
  std::vector<std::vector<std::uint64_t>> loads_;   // by pool and section
  bool given_up_ = false;
};

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
