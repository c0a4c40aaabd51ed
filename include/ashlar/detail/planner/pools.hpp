// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several pools: first fit over all of them, then every assignment that the loads permit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/layout.hpp>
#include <ashlar/base/problem.hpp>
#include <ashlar/detail/planner/greedy.hpp>
#include <ashlar/detail/planner/instance.hpp>
#include <ashlar/detail/planner/search_limits.hpp>

namespace ashlar::ASHLAR_ABI::detail::planner {

using plan::statistics;
using plan::status;

/// A pool for every item of a part, and its offset if first fit found one.
struct assignment {
  std::vector<std::uint32_t> pools;
  std::vector<std::uint64_t> offsets;
  bool fits = false;  ///< Every item lies within its pool.
};

[[nodiscard]] inline bool allowed(const item& x, std::size_t pool) noexcept { return (x.pools >> pool & 1) != 0; }

/// Puts each item into the first allowed pool with room; without room, into the largest allowed pool.
class pool_filler {
public:
  pool_filler(const part& items, const std::vector<pool>& pools) : items_(items), pools_(pools) {
    for (std::size_t p = 0; p < pools.size(); ++p) packers_.emplace_back(items);
    result_.pools.assign(items.size(), 0);
    result_.offsets.assign(items.size(), 0);
    result_.fits = true;
  }

  void put(std::uint32_t i) {
    const item& x = items_[i];
    std::size_t fallback = pools_.size();
    for (std::size_t p = 0; p < pools_.size(); ++p) {
      if (!allowed(x, p)) continue;
      if (fallback == pools_.size() || pools_[p].capacity > pools_[fallback].capacity) fallback = p;
      const std::uint64_t offset = x.pin == unpinned ? packers_[p].find(i) : x.pin;
      if (offset > pools_[p].capacity || x.size > pools_[p].capacity - offset) continue;
      if (x.pin == unpinned || packers_[p].find(i, offset) == offset) return place(i, p, offset);
    }
    result_.fits = false;
    place(i, fallback, x.pin == unpinned ? packers_[fallback].find(i) : x.pin);
  }

  [[nodiscard]] assignment take() && { return std::move(result_); }

private:
  void place(std::uint32_t i, std::size_t p, std::uint64_t offset) {
    packers_[p].put(i, offset);
    result_.pools[i] = static_cast<std::uint32_t>(p);
    result_.offsets[i] = offset;
  }

  const part& items_;
  const std::vector<pool>& pools_;
  std::vector<first_fit> packers_;
  assignment result_;
};

/// Returns: the first assignment, over all orders, in which everything fits; otherwise the assignment of the first
/// order. Items with fewer allowed pools come first.
[[nodiscard]] inline assignment assign_pools(const part& whole, const std::vector<pool>& pools) {
  assignment first;
  for (const order o : all_orders) {
    std::vector<std::uint32_t> items = sorted_by(whole, o);
    const auto choices = [&](std::uint32_t i) {
      int count = whole.pinned(i) ? -64 : 0;
      for (std::size_t p = 0; p < pools.size(); ++p) count += allowed(whole[i], p);
      return count;
    };
    std::vector<std::uint32_t> rank(items.size());
    for (std::uint32_t k = 0; k < items.size(); ++k) rank[items[k]] = k;
    std::sort(items.begin(), items.end(), [&](std::uint32_t a, std::uint32_t b) {
      return choices(a) != choices(b) ? choices(a) < choices(b) : rank[a] < rank[b];
    });
    pool_filler filler(whole, pools);
    for (const std::uint32_t i : items) filler.put(i);
    assignment found = std::move(filler).take();
    if (found.fits) return found;
    if (first.pools.empty()) first = std::move(found);
  }
  return first;
}

/// Returns: whether no assignment can exist: an item exceeds all its pools, or the live bytes exceed all pools
/// together.
[[nodiscard]] inline bool pools_overloaded(const part& whole, const std::vector<pool>& pools) {
  std::uint64_t total = 0;
  for (const pool& p : pools) total += std::min(p.capacity, ~total);
  const auto too_large = [&](const item& x) {
    for (std::size_t p = 0; p < pools.size(); ++p)
      if (allowed(x, p) && x.size <= pools[p].capacity) return false;
    return true;
  };
  const std::vector<std::uint64_t> load = section_loads(whole);
  return std::any_of(whole.all->items.begin(), whole.all->items.end(), too_large) ||
         std::any_of(load.begin(), load.end(), [&](std::uint64_t l) { return l > total; });
}

/// Limit of the items: assignments of more would take too much time and stack.
inline constexpr std::size_t most_items_to_assign = 64;

/// Divides items among pools. `plan_pool(p, chosen)` plans the chosen items into pool `p` and returns `feasible` on a
/// fit, `infeasible` if there is none, and any other status if it does not know.
template <class PlanPool>
class pool_search {
public:
  pool_search(const instance& whole, const std::vector<pool>& pools, budget& effort, statistics& stats,
              PlanPool plan_pool)
      : whole_(whole), pools_(pools), effort_(effort), stats_(stats), plan_pool_(std::move(plan_pool)),
        chosen_(pools.size()), loads_(pools.size(), std::vector<std::uint64_t>(whole.sections)) {
    for (std::uint32_t i = 0; i < whole.items.size(); ++i) order_.push_back(i);
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return whole_.items[a].size != whole_.items[b].size ? whole_.items[a].size > whole_.items[b].size : a < b;
    });
  }

  /// Effects: on a fit writes the pool of every item. Returns: `infeasible` once everything was tried, `unknown` if a
  /// budget ended before.
  [[nodiscard]] status run(std::vector<std::uint32_t>& pool_of) {
    if (assign(0, pool_of)) return status::feasible;
    return given_up_ ? status::unknown : status::infeasible;
  }

private:
  [[nodiscard]] bool assign(std::size_t k, std::vector<std::uint32_t>& pool_of) {
    if (!effort_.spend()) {
      given_up_ = true;
      return false;
    }
    ++stats_.nodes;
    if (k == order_.size()) return plan_each();
    const std::uint32_t i = order_[k];
    const item& x = whole_.items[i];
    for (std::uint32_t p = 0; p < pools_.size(); ++p) {
      if (!allowed(x, p) || x.size > pools_[p].capacity || has_empty_twin(p)) continue;
      pool_of[i] = p;
      chosen_[p].push_back(i);
      const bool found = add(i, p, 1) && assign(k + 1, pool_of);
      if (found) return true;
      add(i, p, -1);
      chosen_[p].pop_back();
      if (effort_.exhausted()) given_up_ = true;
      if (effort_.exhausted()) return false;
    }
    return false;
  }

  /// Effects: counts the item in the load of the pool. Returns: whether the pool has room for it.
  bool add(std::uint32_t i, std::uint32_t p, int sign) {
    bool fits = true;
    for (const interval* x = whole_.begin(i); x != whole_.end(i); ++x)
      for (std::uint32_t t = x->first; t < x->last; ++t) {
        loads_[p][t] += sign > 0 ? x->high - x->low : x->low - x->high;
        fits = fits && loads_[p][t] <= pools_[p].capacity;
      }
    return fits;
  }

  /// Returns: whether an earlier pool is equivalent: empty as well, as large, and open to the same items.
  [[nodiscard]] bool has_empty_twin(std::uint32_t p) const {
    if (!chosen_[p].empty()) return false;
    for (std::uint32_t q = 0; q < p; ++q) {
      const auto alike = [&](const item& x) { return allowed(x, p) == allowed(x, q); };
      if (chosen_[q].empty() && pools_[q].capacity == pools_[p].capacity &&
          std::all_of(whole_.items.begin(), whole_.items.end(), alike))
        return true;
    }
    return false;
  }

  [[nodiscard]] bool plan_each() {
    for (std::uint32_t p = 0; p < pools_.size(); ++p) {
      const status found = plan_pool_(p, chosen_[p]);
      if (found == status::feasible) continue;
      if (found != status::infeasible) given_up_ = true;
      return false;
    }
    return true;
  }

  const instance& whole_;
  const std::vector<pool>& pools_;
  budget& effort_;
  statistics& stats_;
  PlanPool plan_pool_;
  std::vector<std::uint32_t> order_;
  std::vector<std::vector<std::uint32_t>> chosen_;  // items, by pool
  std::vector<std::vector<std::uint64_t>> loads_;   // by pool and section
  bool given_up_ = false;
};

}  // namespace ashlar::ASHLAR_ABI::detail::planner
