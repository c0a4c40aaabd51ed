// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lowers a large placement at its peaks: what lives near a peak is planned anew, everything else stays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/budget.hpp>
#include <ashlar/plan/first_fit.hpp>
#include <ashlar/plan/layout.hpp>
#include <ashlar/plan/model.hpp>
#include <ashlar/plan/refine.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

namespace detail {

/// A window around a peak: the items that live wholly inside are free, those that reach in are pinned where they are.
class window {
public:
  window(const model& m, const placement& now, std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t i = 0; i < m.items.size(); ++i) add(m, now, i, first, last);
    part_.sections = last - first;
    part_.moments.assign(m.moments.data() + first, m.moments.data() + last);
  }

  [[nodiscard]] std::size_t free_items() const noexcept { return free_; }
  [[nodiscard]] const model& items() const noexcept { return part_; }

  /// Effects: moves the free items to where `found` has them.
  void apply(const placement& found, placement& whole) const {
    for (std::size_t k = 0; k < part_.items.size(); ++k) whole.offsets[part_.items[k].origin] = found.offsets[k];
  }

private:
  void add(const model& m, const placement& now, std::uint32_t i, std::uint32_t first, std::uint32_t last) {
    item x = m.items[i];
    const auto from = static_cast<std::uint32_t>(part_.pieces.size());
    bool inside = x.pin == unpinned;
    for (const piece* p = m.begin(i); p != m.end(i); ++p) {
      inside = inside && first <= p->first && p->last <= last;
      const std::uint32_t begin = std::max(p->first, first), end = std::min(p->last, last);
      if (begin < end) part_.pieces.push_back({begin - first, end - first, p->low, p->high});
    }
    if (from == part_.pieces.size()) return;
    free_ += inside;
    x.pin = inside ? unpinned : now.offsets[i];
    x.first = from;
    x.last = static_cast<std::uint32_t>(part_.pieces.size());
    x.origin = i;
    part_.items.push_back(x);
  }

  model part_;
  std::size_t free_ = 0;
};

/// The item that ends highest.
[[nodiscard]] inline std::uint32_t highest_item(const model& m, const placement& now) noexcept {
  std::uint32_t best = 0;
  for (std::uint32_t i = 1; i < m.items.size(); ++i)
    if (now.offsets[i] + m.items[i].size > now.offsets[best] + m.items[best].size) best = i;
  return best;
}

/// The sections from the first to the last of the item, and so many more on either side.
[[nodiscard]] inline std::pair<std::uint32_t, std::uint32_t> around(const model& m, std::uint32_t i,
                                                                    std::uint32_t margin) noexcept {
  std::uint32_t first = m.sections, last = 0;
  for (const piece* p = m.begin(i); p != m.end(i); ++p) {
    first = std::min(first, p->first);
    last = std::max(last, p->last);
  }
  return {first - std::min(first, margin), last + std::min(m.sections - last, margin)};
}

[[nodiscard]] inline std::uint64_t height_of(const model& m, const placement& now) noexcept {
  std::uint64_t height = 0;
  for (std::size_t i = 0; i < m.items.size(); ++i) height = std::max(height, now.offsets[i] + m.items[i].size);
  return height;
}

}  // namespace detail

/// Effects: lowers the highest item again and again by replanning a window of time around it; a window that fails is
/// doubled until it grows too large. Ends at `goal`, at a peak no window can lower, or with the budget.
inline void lower_peaks(const model& m, placement& now, std::uint64_t goal, budget& allowance, statistics& stats) {
  constexpr std::size_t most_free = 1500;
  constexpr std::uint64_t nodes = 4000;
  constexpr std::size_t items_per_node = 4096;  // looking through the items costs time as well
  std::uint32_t margin = 1;
  while (now.height > goal && !allowance.exhausted()) {
    const std::uint32_t peak = detail::highest_item(m, now);
    if (m.items[peak].pin != unpinned) return;
    if (!allowance.spend(1 + m.items.size() / items_per_node)) return;
    const auto [first, last] = detail::around(m, peak, margin);
    const detail::window part(m, now, first, last);
    if (part.free_items() > most_free) return;
    ++stats.windows;
    interval x;
    x.best.height = now.height;
    refiner search(part.items());
    const std::uint64_t target = std::max(goal, now.height - std::max<std::uint64_t>(1, (now.height - goal) / 8));
    if (search.attempt(x, target, nodes, allowance, stats) == valley::verdict::fits) {
      part.apply(x.best, now);
      now.height = detail::height_of(m, now);
      margin = std::max<std::uint32_t>(1, margin / 2);
    } else {
      if (first == 0 && last == m.sections) return;
      margin *= 2;
    }
  }
}

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
