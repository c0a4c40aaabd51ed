// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lowers the placement of one part by exact searches at ever closer capacities.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/board_shape.hpp>
#include <ashlar/plan/budget.hpp>
#include <ashlar/plan/first_fit.hpp>
#include <ashlar/plan/layout.hpp>
#include <ashlar/plan/load.hpp>
#include <ashlar/plan/model.hpp>
#include <ashlar/plan/order_search.hpp>
#include <ashlar/plan/valley_search.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

/// The best known of one part: no placement is lower than `bound`.
struct interval {
  placement best;
  std::uint64_t bound = 0;
  bool by_search = false;  ///< The bound was raised by exhausting a search.
};

/// Searches one part: by valleys where every piece starts at the offset of its item, else by orders.
class refiner {
public:
  /// Expects: every piece of `m` has `low == 0`, or `order_search::accepts(m)`; pinned items do not collide.
  explicit refiner(const model& m) : model_(m), by_valleys_(detail::starts_at_offset(m)) {
    if (by_valleys_) shape_ = valley::make_board_shape(m);
  }

  /// Effects: tries one capacity. On a fit `x.best` improves; on exhaustion `x.bound` rises above the capacity.
  valley::verdict attempt(interval& x, std::uint64_t capacity, std::uint64_t nodes, budget& allowance,
                          statistics& stats) {
    budget slice = allowance.slice(nodes);
    // Building a board costs about what a node does, so that attempts that end at once are counted too.
    if (!slice.spend()) return valley::verdict::undecided;
    const valley::verdict v =
        by_valleys_ ? search_valleys(x, capacity, slice, stats) : search_orders(x, capacity, slice);
    allowance.charge(slice);
    stats.nodes += slice.spent();
    if (v == valley::verdict::fails) {
      x.bound = std::max(x.bound, (capacity / step() + 1) * step());
      x.by_search = true;
    }
    return v;
  }

  /// Effects: closes in on the least height, but no lower than `goal`, in rounds of doubling budgets: first the bound
  /// itself, which is met more often than not, then heights ever farther above what is excluded.
  template <class Report>
  void descend(interval& x, std::uint64_t goal, budget& allowance, statistics& stats, Report report) {
    std::uint64_t nodes = 64 * (model_.items.size() + 16);
    for (; unsettled(x, goal) && !allowance.exhausted(); nodes = std::max(nodes, nodes * 2)) {
      std::uint64_t low = std::max(x.bound, goal);
      std::uint64_t stride = 0;  // doubles with every capacity found too small, so that far bounds are reached
      while (low < x.best.height && !allowance.exhausted()) {
        const valley::verdict v = attempt(x, low, nodes, allowance, stats);
        report(x);
        if (v == valley::verdict::fits) break;
        const std::uint64_t half = std::max(low + step(), low + (x.best.height - low) / 2 / step() * step());
        low = v == valley::verdict::fails ? std::min(half, std::max(low, x.bound) + stride) : half;
        if (v == valley::verdict::fails) stride = std::min(2 * stride + step(), x.best.height);
      }
    }
  }

private:
  [[nodiscard]] valley::verdict search_valleys(interval& x, std::uint64_t capacity, budget& slice, statistics& stats) {
    valley::search search(shape_, capacity, slice);
    const valley::verdict v = search.run();
    stats.table_hits += search.table_hits();
    if (v == valley::verdict::fits) x.best = extract(search);
    return v;
  }

  [[nodiscard]] valley::verdict search_orders(interval& x, std::uint64_t capacity, budget& slice) {
    order_search search(model_, capacity, slice);
    const valley::verdict v = search.run();
    if (v != valley::verdict::fits) return v;
    x.best.height = 0;
    for (std::size_t i = 0; i < model_.items.size(); ++i) put(x.best, i, search.offset(i));
    return v;
  }

  void put(placement& p, std::size_t i, std::uint64_t offset) const {
    p.offsets.resize(model_.items.size());
    p.offsets[i] = offset;
    p.height = std::max(p.height, offset + model_.items[i].size);
  }

  [[nodiscard]] static bool unsettled(const interval& x, std::uint64_t goal) noexcept {
    return x.best.height > std::max(x.bound, goal);
  }

  /// Heights are multiples of this, but for those that pinned items alone set.
  [[nodiscard]] std::uint64_t step() const noexcept {
    const auto unit = static_cast<std::uint64_t>(shape_.unit);
    if (!by_valleys_) return 1;
    const auto padded = [&](const valley::figure& f) { return f.bytes % unit != 0; };
    return std::any_of(shape_.figures.begin(), shape_.figures.end(), padded) ? 1 : unit;
  }

  [[nodiscard]] placement extract(const valley::search& search) const {
    placement p;
    for (std::uint32_t f = 0; f < shape_.figures.size(); ++f) put(p, shape_.figures[f].origin, search.offset(f));
    for (std::size_t i = 0; i < model_.items.size(); ++i)
      if (model_.items[i].pin != unpinned) put(p, i, model_.items[i].pin);
    return p;
  }

  const model& model_;
  bool by_valleys_;
  valley::board_shape shape_;
};

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
