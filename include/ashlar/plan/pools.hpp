// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several pools: which buffer lies in which. Each pool is then a problem of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/first_fit.hpp>
#include <ashlar/plan/load.hpp>
#include <ashlar/plan/model.hpp>
#include <ashlar/plan/order.hpp>
#include <ashlar/plan/problem.hpp>
#include <ashlar/plan/shape.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

/// A pool for every item of a model, and an offset where first fit found one.
struct assignment {
  std::vector<std::uint32_t> pools;
  std::vector<std::uint64_t> offsets;
  bool fits = false;  ///< Every item lies within its pool.
};

namespace detail {

inline bool allowed(const shape& s, std::size_t pool) noexcept { return (s.pools >> pool & 1) != 0; }

/// Puts items one by one into the first allowed pool that has room; without room, into the largest allowed pool.
class pool_filler {
public:
  pool_filler(const model& m, const shapes& all, const std::vector<pool>& pools) : m_(m), all_(all), pools_(pools) {
    for (std::size_t p = 0; p < pools.size(); ++p) packers_.emplace_back(m);
    result_.pools.assign(m.items.size(), 0);
    result_.offsets.assign(m.items.size(), 0);
    result_.fits = true;
  }

  void put(std::uint32_t i) {
    const item& x = m_.items[i];
    std::size_t fallback = pools_.size();
    for (std::size_t p = 0; p < pools_.size(); ++p) {
      if (!allowed(all_.list[x.origin], p)) continue;
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

  const model& m_;
  const shapes& all_;
  const std::vector<pool>& pools_;
  std::vector<first_fit> packers_;
  assignment result_;
};

}  // namespace detail

/// Returns: the first assignment, over all orders, in which everything fits; otherwise that of the first order.
/// Items with fewer allowed pools are taken first.
[[nodiscard]] inline assignment assign_pools(const model& m, const shapes& all, const std::vector<pool>& pools) {
  assignment first;
  for (const order o : all_orders) {
    std::vector<std::uint32_t> items = sorted_by(m, o);
    const auto choices = [&](std::uint32_t i) {
      int count = m.items[i].pin != unpinned ? -64 : 0;
      for (std::size_t p = 0; p < pools.size(); ++p) count += detail::allowed(all.list[m.items[i].origin], p);
      return count;
    };
    std::vector<std::uint32_t> rank(items.size());
    for (std::uint32_t k = 0; k < items.size(); ++k) rank[items[k]] = k;
    std::sort(items.begin(), items.end(), [&](std::uint32_t a, std::uint32_t b) {
      return choices(a) != choices(b) ? choices(a) < choices(b) : rank[a] < rank[b];
    });
    detail::pool_filler filler(m, all, pools);
    for (const std::uint32_t i : items) filler.put(i);
    assignment found = std::move(filler).take();
    if (found.fits) return found;
    if (first.pools.empty()) first = std::move(found);
  }
  return first;
}

/// Whether no assignment can exist: an item larger than all its pools, or more live bytes than all pools together.
[[nodiscard]] inline bool pools_overloaded(const model& m, const shapes& all, const std::vector<pool>& pools) {
  std::uint64_t total = 0;
  for (const pool& p : pools) total += std::min(p.capacity, ~total);
  const auto too_large = [&](const item& x) {
    for (std::size_t p = 0; p < pools.size(); ++p)
      if (detail::allowed(all.list[x.origin], p) && x.size <= pools[p].capacity) return false;
    return true;
  };
  const std::vector<std::uint64_t> load = section_loads(m);
  return std::any_of(m.items.begin(), m.items.end(), too_large) ||
         std::any_of(load.begin(), load.end(), [&](std::uint64_t l) { return l > total; });
}

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
