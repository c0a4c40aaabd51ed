// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decides whether few items of any outline fit a capacity: the search chooses the upper item of each pair.
//
// The section search handles items that start at their offset. With windows that hide first bytes, an item may slide
// beneath another:
//                                 +-----+
//                                 |  a  +---+      The forbidden differences b - a of a pair form ranges: b - a must
//                          +--+   +-+       |      not lie strictly between `low` (b just beneath a) and `high` (b just
//                          |b | ->  |  a    |      above a). A pair can have several such ranges.
//                          +--+     +-------+
//
// With every item on its lowest offset, either some range is violated, or the offsets are a layout. For a violated
// range, b goes above a or beneath it, for good; the search tries both, and lowest offsets follow. Nothing is left out,
// so an end without a layout is a proof.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/planner/instance.hpp>
#include <ashlar/detail/planner/search_limits.hpp>

namespace ashlar::ASHLAR_ABI::detail::planner {

class order_search {
public:
  /// Larger parts would take too much memory.
  [[nodiscard]] static bool accepts(const part& p) noexcept {
    std::size_t intervals = 0;
    for (std::uint32_t i = 0; i < p.size(); ++i) intervals += static_cast<std::size_t>(p.end(i) - p.begin(i));
    return p.size() <= 200 && intervals <= 1000;
  }

  /// Expects: `accepts(p)`; `capacity` is at most 2^62; pinned items do not collide.
  order_search(const part& p, std::uint64_t capacity, budget& effort)
      : part_(p), capacity_(capacity), effort_(effort), floors_(p.size()), above_(p.size()) {
    for (std::uint32_t a = 0; a < p.size(); ++a)
      for (std::uint32_t b = a + 1; b < p.size(); ++b) add_ranges(a, b);
  }

  /// Effects: searches until a verdict or the end of the budget.
  [[nodiscard]] verdict run() {
    for (std::size_t i = 0; i < floors_.size(); ++i) {
      floors_[i] = part_.pinned(i) ? static_cast<units>(part_.pin(i)) : 0;
      if (part_[i].size > capacity_ || floors_[i] > ceiling(i)) return verdict::fails;
    }
    if (solve(0)) return verdict::fits;
    return given_up_ ? verdict::undecided : verdict::fails;
  }

  /// Returns: the offset of an item. Expects: the verdict was `fits`.
  [[nodiscard]] std::uint64_t offset(std::size_t i) const noexcept { return static_cast<std::uint64_t>(floors_[i]); }

private:
  /// The offset of `b` less the offset of `a` is at most `low` or at least `high`.
  struct range {
    std::uint32_t a, b;
    units low, high;
  };

  /// One item lies at least this distance above another.
  struct edge {
    std::uint32_t upper;
    units distance;
  };

  struct old_floor {
    std::uint32_t index;
    units floor;
  };

  [[nodiscard]] units ceiling(std::size_t i) const noexcept {
    return static_cast<units>(part_.pinned(i) ? part_.pin(i) : capacity_ - part_[i].size);
  }

  [[nodiscard]] units lowest_offset(std::uint32_t i, units from) const noexcept {
    const auto alignment = static_cast<units>(part_[i].alignment);
    return (from + alignment - 1) & ~(alignment - 1);
  }

  void add_ranges(std::uint32_t a, std::uint32_t b) {
    const std::size_t from = ranges_.size();
    for (const interval* x = part_.begin(a); x != part_.end(a); ++x)
      for (const interval* y = part_.begin(b); y != part_.end(b); ++y)
        if (x->first < y->last && y->first < x->last)
          ranges_.push_back({a, b, static_cast<units>(x->low) - static_cast<units>(y->high),
                             static_cast<units>(x->high) - static_cast<units>(y->low)});
    const auto first = ranges_.begin() + static_cast<std::ptrdiff_t>(from);
    std::sort(first, ranges_.end(), [](const range& x, const range& y) { return x.low < y.low; });
    std::size_t kept = from;
    for (std::size_t k = from; k < ranges_.size(); ++k)
      if (kept != from && ranges_[k].low < ranges_[kept - 1].high)
        ranges_[kept - 1].high = std::max(ranges_[kept - 1].high, ranges_[k].high);
      else ranges_[kept++] = ranges_[k];
    ranges_.resize(kept);
  }

  /// Returns: the distance by which the upper of two would rise; `beyond` if it cannot.
  [[nodiscard]] units rise(std::uint32_t lower, std::uint32_t upper, units distance) const noexcept {
    const units to = lowest_offset(upper, floors_[lower] + distance);
    return to > ceiling(upper) ? beyond : to - floors_[upper];
  }

  /// Returns: a violated range with the fewest options, the costliest of those; null if there is none.
  [[nodiscard]] const range* choose() const noexcept {
    const range* best = nullptr;
    units best_cost = -1;
    for (const range& r : ranges_) {
      const units difference = floors_[r.b] - floors_[r.a];
      if (difference <= r.low || difference >= r.high) continue;
      const units up = rise(r.a, r.b, r.high), down = rise(r.b, r.a, -r.low);
      const units cost = std::max(up, down) >= beyond ? beyond : std::min(up, down);
      if (cost > best_cost) {
        best = &r;
        best_cost = cost;
      }
    }
    return best;
  }

  [[nodiscard]] bool solve(std::uint32_t depth) {
    if (depth == deepest || !effort_.spend(1 + work_ / (16 * floors_.size() + 256))) {
      given_up_ = true;
      return false;
    }
    work_ = 0;
    const range* const r = choose();
    if (r == nullptr) return true;
    const bool up_first = rise(r->a, r->b, r->high) <= rise(r->b, r->a, -r->low);
    for (const bool up : {up_first, !up_first}) {
      if (up ? try_order(r->a, r->b, r->high, depth) : try_order(r->b, r->a, -r->low, depth)) return true;
      if (given_up_) return false;
    }
    return false;
  }

  [[nodiscard]] bool try_order(std::uint32_t lower, std::uint32_t upper, units distance, std::uint32_t depth) {
    const std::size_t mark = trail_.size();
    above_[lower].push_back({upper, distance});
    if (raise(upper, floors_[lower] + distance) && solve(depth + 1)) return true;
    above_[lower].pop_back();
    for (; trail_.size() > mark; trail_.pop_back()) floors_[trail_.back().index] = trail_.back().floor;
    return false;
  }

  /// Effects: raises a floor and the items that must lie above it. Returns: false if an item ends above its ceiling, or
  /// if the budget ends.
  [[nodiscard]] bool raise(std::uint32_t i, units to) {
    open_.clear();
    if (!lift(i, to)) return false;
    for (std::size_t k = 0; k < open_.size(); ++k) {
      const std::uint32_t from = open_[k];
      for (const edge& e : above_[from])
        if (!lift(e.upper, floors_[from] + e.distance)) return false;
      // A cycle of orders raises floors step by step up to the ceiling; such steps count against the budget.
      if ((++work_ & 0xfff) == 0 && !effort_.spend()) {
        given_up_ = true;
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] bool lift(std::uint32_t i, units to) {
    to = lowest_offset(i, to);
    if (to <= floors_[i]) return true;
    if (to > ceiling(i)) return false;
    trail_.push_back({i, floors_[i]});
    floors_[i] = to;
    open_.push_back(i);
    return true;
  }

  static constexpr std::uint32_t deepest = 4000;  // limits the recursion

  const part& part_;
  std::uint64_t capacity_;
  budget& effort_;
  std::vector<units> floors_;
  std::vector<std::vector<edge>> above_;  // the items that must lie above each item
  std::vector<range> ranges_;
  std::vector<old_floor> trail_;
  std::vector<std::uint32_t> open_;
  std::uint64_t work_ = 0;
  bool given_up_ = false;
};

}  // namespace ashlar::ASHLAR_ABI::detail::planner
