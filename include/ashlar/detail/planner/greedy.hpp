// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Greedy placement: items one by one at the lowest free offset, or from the bottom up; the best of several orders wins.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/planner/instance.hpp>
#include <ashlar/detail/planner/search_limits.hpp>

namespace ashlar::ASHLAR_ABI::detail::planner {

/// The generator SplitMix64 (Steele, Lea and Flood 2014).
class splitmix {
public:
  constexpr explicit splitmix(std::uint64_t seed) noexcept : state_(seed) {}

  constexpr std::uint64_t operator()() noexcept { return detail::mixed(state_ += 0x9e3779b97f4a7c15u); }

  /// Returns: a number below `bound`. Expects: `bound != 0`.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept { return (*this)() % bound; }

  /// Returns: an index below `count`. Expects: `count != 0`.
  constexpr std::size_t index(std::size_t count) noexcept { return static_cast<std::size_t>(below(count)); }

private:
  std::uint64_t state_;
};

/// A range of bytes.
struct byte_range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Disjoint byte ranges in ascending order; ranges that meet are one.
class range_list {
public:
  [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }
  [[nodiscard]] const byte_range* begin() const noexcept { return ranges_.data(); }
  [[nodiscard]] const byte_range* end() const noexcept { return ranges_.data() + ranges_.size(); }

  /// Effects: unites the list with `r`. Complexity: O(log n + ranges moved).
  void insert(byte_range r) {
    if (ranges_.empty() || ranges_.back().end < r.begin) return ranges_.push_back(r);
    const auto first = std::lower_bound(ranges_.begin(), ranges_.end(), r.begin,
                                        [](const byte_range& x, std::uint64_t b) { return x.end < b; });
    auto last = first;
    for (; last != ranges_.end() && last->begin <= r.end; ++last) {
      r.begin = std::min(r.begin, last->begin);
      r.end = std::max(r.end, last->end);
    }
    if (first == last) {
      ranges_.insert(first, r);
    } else {
      *first = r;
      ranges_.erase(first + 1, last);
    }
  }

private:
  std::vector<byte_range> ranges_;
};

/// Walks one list upwards: `skip` moves an offset past the ranges in its way.
class range_cursor {
public:
  explicit range_cursor(const range_list& list) noexcept : at_(list.begin()), end_(list.end()) {}

  /// Returns: the least offset, `from` or the end of a range, at which `[offset, offset + size)` overlaps nothing of
  /// this list. Reads only the ranges in the way.
  [[nodiscard]] std::uint64_t skip(std::uint64_t from, std::uint64_t size) noexcept {
    gallop(from);
    for (; at_ != end_ && at_->begin < from + size; ++at_) from = at_->end;
    return from;
  }

private:
  /// Doubling steps: a long list costs the logarithm of the distance moved.
  void gallop(std::uint64_t from) noexcept {
    std::ptrdiff_t step = 1;
    while (end_ - at_ > step && at_[step].end <= from) {
      at_ += step;
      step *= 2;
    }
    for (; step != 0; step /= 2)
      while (end_ - at_ > step && at_[step].end <= from) at_ += step;
    if (at_ != end_ && at_->end <= from) ++at_;
  }

  const byte_range* at_;
  const byte_range* end_;
};

/// The taken bytes of every section. Memory: O(insertions * log(sections)) at worst.
class occupancy {
public:
  explicit occupancy(std::uint32_t sections)
      : leaves_(std::bit_ceil(std::max<std::uint32_t>(sections, 1))), nodes_(std::size_t{leaves_} * 2) {}

  /// Effects: takes the bytes `r` in the sections `[first, last)`.
  void insert(std::uint32_t first, std::uint32_t last, byte_range r) {
    std::uint32_t left = first + leaves_;
    std::uint32_t right = last + leaves_;
    for (; left < right; left /= 2, right /= 2) {
      if (left & 1) cover(left++, r);
      if (right & 1) cover(--right, r);
    }
    touch_ancestors(first + leaves_, last - 1 + leaves_, first, last, r);
  }

  /// Effects: appends lists; their union is the bytes taken in the sections `[first, last)`.
  void collect(std::uint32_t first, std::uint32_t last, std::vector<const range_list*>& lists) const {
    std::uint32_t left = first + leaves_;
    std::uint32_t right = last + leaves_;
    for (; left < right; left /= 2, right /= 2) {
      if (left & 1) add(nodes_[left++].touching, lists);
      if (right & 1) add(nodes_[--right].touching, lists);
    }
    collect_ancestors(first + leaves_, last - 1 + leaves_, first, last, lists);
  }

private:
  struct node {
    range_list touching;
    range_list covering;
  };

  static void add(const range_list& list, std::vector<const range_list*>& lists) {
    if (!list.empty()) lists.push_back(&list);
  }

  void cover(std::uint32_t n, byte_range r) {
    nodes_[n].touching.insert(r);
    nodes_[n].covering.insert(r);
  }

  /// Returns: whether a node of the given height lies wholly in `[first, last)`.
  [[nodiscard]] bool inside(std::uint32_t n, unsigned height, std::uint32_t first, std::uint32_t last) const noexcept {
    const std::uint64_t begin = (std::uint64_t{n} << height) - leaves_;
    return first <= begin && begin + (std::uint64_t{1} << height) <= last;
  }

  /// Visits the ancestors of the two outermost leaves that are not wholly inside, each once.
  template <class Visit>
  void for_each_partial(std::uint32_t left, std::uint32_t right, std::uint32_t first, std::uint32_t last,
                        Visit visit) const {
    unsigned height = 1;
    for (left /= 2, right /= 2; left != 0; left /= 2, right /= 2, ++height) {
      if (!inside(left, height, first, last)) visit(left);
      if (right != left && !inside(right, height, first, last)) visit(right);
    }
  }

  void touch_ancestors(std::uint32_t left, std::uint32_t right, std::uint32_t first, std::uint32_t last, byte_range r) {
    for_each_partial(left, right, first, last, [&](std::uint32_t n) { nodes_[n].touching.insert(r); });
  }

  void collect_ancestors(std::uint32_t left, std::uint32_t right, std::uint32_t first, std::uint32_t last,
                         std::vector<const range_list*>& lists) const {
    for_each_partial(left, right, first, last, [&](std::uint32_t n) { add(nodes_[n].covering, lists); });
  }

  std::uint32_t leaves_;
  std::vector<node> nodes_;
};

/// Returns: the least multiple of `alignment` not below `from` at which `size` bytes overlap none of the lists.
[[nodiscard]] inline std::uint64_t lowest_fit(const std::vector<const range_list*>& lists, std::uint64_t from,
                                              std::uint64_t size, std::uint64_t alignment,
                                              std::vector<range_cursor>& cursors) {
  cursors.clear();
  for (const range_list* list : lists) cursors.emplace_back(*list);
  std::uint64_t offset = from;
  std::size_t agreeing = 0;  // lists in a row without an overlap at the offset
  for (std::size_t k = 0; agreeing < cursors.size(); k = k + 1 == cursors.size() ? 0 : k + 1) {
    const std::uint64_t free = cursors[k].skip(offset, size);
    const std::uint64_t next = (free + alignment - 1) & ~(alignment - 1);
    // A list is free at the offset that it returns, but perhaps not at that offset rounded up.
    agreeing = next == offset ? agreeing + 1 : next == free ? 1 : 0;
    offset = next;
  }
  return offset;
}

/// The height reached in each section. Heights only rise, so nothing has to be passed down the tree.
class skyline {
public:
  explicit skyline(std::uint32_t sections)
      : leaves_(std::bit_ceil(std::max<std::uint32_t>(sections, 1))), highest_(std::size_t{leaves_} * 2),
        covering_(std::size_t{leaves_} * 2) {}

  /// Returns: the greatest height in the sections `[first, last)`. Complexity: O(log n).
  [[nodiscard]] std::uint64_t over(std::uint32_t first, std::uint32_t last) const noexcept {
    std::uint64_t most = 0;
    std::uint32_t left = first + leaves_, right = last + leaves_;
    for (; left < right; left /= 2, right /= 2) {
      if (left & 1) most = std::max(most, highest_[left++]);
      if (right & 1) most = std::max(most, highest_[--right]);
    }
    for (left = first + leaves_, right = last - 1 + leaves_; left != 0; left /= 2, right /= 2)
      most = std::max({most, covering_[left], covering_[right]});
    return most;
  }

  /// Effects: sets the height of the sections `[first, last)`. Expects: `height` is not lower than `over(first, last)`.
  void raise(std::uint32_t first, std::uint32_t last, std::uint64_t height) noexcept {
    std::uint32_t left = first + leaves_, right = last + leaves_;
    for (; left < right; left /= 2, right /= 2) {
      if (left & 1) cover(left++, height);
      if (right & 1) cover(--right, height);
    }
    for (left = first + leaves_, right = last - 1 + leaves_; left != 0; left /= 2, right /= 2)
      for (const std::uint32_t n : {left, right}) highest_[n] = std::max(highest_[n], height);
  }

private:
  void cover(std::uint32_t n, std::uint64_t height) noexcept { highest_[n] = covering_[n] = height; }

  std::uint32_t leaves_;
  std::vector<std::uint64_t> highest_;   // the maximum of the sections below the node
  std::vector<std::uint64_t> covering_;  // the height of the last raise that took the whole node
};

/// The primary criterion of an order. A second word breaks ties.
enum class order {
  size,       ///< The largest; the longest of equals.
  area,       ///< The largest product of size and life.
  life,       ///< The longest-lived.
  life_size,  ///< The longest-lived, the largest of equals.
  size_life,  ///< The largest, the longest-lived of equals.
  breadth,    ///< The items that live through the fullest section.
  birth,      ///< The earliest.
  time_area   ///< The largest product of size and life, counted in moments instead of sections.
};

/// The orders that the planner tries, the most successful first; `time_area` is for placing from below.
inline constexpr order all_orders[] = {order::size_life, order::breadth, order::life_size, order::area,
                                       order::size,      order::life,    order::birth};

/// Returns: the number of sections of the item's life.
[[nodiscard]] inline std::uint64_t life_of(const part& p, std::uint32_t i) noexcept {
  std::uint64_t life = 0;
  for (const interval* x = p.begin(i); x != p.end(i); ++x) life += x->last - x->first;
  return life;
}

/// Returns: the greatest load of a section over the life of each item, by a table of maxima over powers of two.
[[nodiscard]] inline std::vector<std::uint64_t> breadths(const part& p) {
  std::vector<std::vector<std::uint64_t>> most{section_loads(p)};
  for (std::size_t width = 1; width * 2 <= p.sections(); width *= 2) {
    const std::vector<std::uint64_t>& last = most.back();
    std::vector<std::uint64_t> next(last.size() - width);
    for (std::size_t s = 0; s < next.size(); ++s) next[s] = std::max(last[s], last[s + width]);
    most.push_back(std::move(next));
  }
  std::vector<std::uint64_t> result(p.size(), 0);
  for (std::uint32_t i = 0; i < p.size(); ++i)
    for (const interval* x = p.begin(i); x != p.end(i); ++x) {
      const std::size_t first = x->first - p.first, last = x->last - p.first;
      const auto level = static_cast<std::size_t>(std::bit_width(last - first)) - 1;
      result[i] = std::max({result[i], most[level][first], most[level][last - (std::size_t{1} << level)]});
    }
  return result;
}

/// From the moment of the first section to the moment of the last, interval by interval.
[[nodiscard]] inline double time_of(const part& p, std::uint32_t i) noexcept {
  double time = 0;
  for (const interval* x = p.begin(i); x != p.end(i); ++x)
    time += static_cast<double>(p.all->moments[x->last - 1] - p.all->moments[x->first]) + 1;
  return time;
}

using sort_key = std::pair<double, double>;

[[nodiscard]] inline sort_key key_of(const part& p, std::uint32_t i, order o) noexcept {
  const auto size = static_cast<double>(p[i].size);
  const auto life = static_cast<double>(life_of(p, i));
  switch (o) {
    case order::size: return {size, 0};
    case order::area: return {size * life, size};
    case order::life: return {life, 0};
    case order::life_size: return {life, size};
    case order::size_life: return {size, life};
    case order::birth:
      return {p.begin(i) == p.end(i) ? 0 : -static_cast<double>(p.all->in_time[p.begin(i)->first]), size};
    case order::time_area: return {size * time_of(p, i), size};
    case order::breadth: break;
  }
  return {0, size};
}

/// Returns: the items in the given order, stable. Complexity: O(n log n).
[[nodiscard]] inline std::vector<std::uint32_t> sorted_by(const part& p, order o) {
  std::vector<sort_key> keys(p.size());
  for (std::uint32_t i = 0; i < keys.size(); ++i) keys[i] = key_of(p, i, o);
  if (o == order::breadth) {
    const std::vector<std::uint64_t> breadth = breadths(p);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i].first = static_cast<double>(breadth[i]);
  }
  std::vector<std::uint32_t> sorted(keys.size());
  for (std::uint32_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
  std::sort(sorted.begin(), sorted.end(),
            [&](std::uint32_t a, std::uint32_t b) { return keys[a] != keys[b] ? keys[a] > keys[b] : a < b; });
  return sorted;
}

/// Offsets for the items of a part, and the height they reach.
struct placement {
  std::vector<std::uint64_t> offsets;
  std::uint64_t height = 0;
};

/// Places the items of one part, in any order, each once.
class first_fit {
public:
  explicit first_fit(const part& p) : part_(p), taken_(p.sections()) {}

  /// Returns: the lowest offset, not below `from`, at which item `i` overlaps no placed item.
  [[nodiscard]] std::uint64_t find(std::uint32_t i, std::uint64_t from = 0) {
    const std::uint64_t alignment = part_[i].alignment;
    const interval* const intervals = part_.begin(i);
    std::uint64_t offset = round_up(from, alignment);
    const auto count = static_cast<std::size_t>(part_.end(i) - intervals);
    if (count == 1 && intervals->low == 0) return fit(*intervals, offset, alignment);
    std::size_t agreeing = 0;
    for (std::size_t k = 0; agreeing < count; k = k + 1 == count ? 0 : k + 1) {
      const interval& x = intervals[k];
      const std::uint64_t next = round_up(fit(x, offset + x.low, 1) - x.low, alignment);
      agreeing = next == offset ? agreeing + 1 : 0;
      offset = next;
    }
    return offset;
  }

  /// Effects: takes the bytes of item `i` at `offset`.
  void put(std::uint32_t i, std::uint64_t offset) {
    for (const interval* x = part_.begin(i); x != part_.end(i); ++x)
      taken_.insert(x->first - part_.first, x->last - part_.first, {offset + x->low, offset + x->high});
  }

private:
  std::uint64_t fit(const interval& x, std::uint64_t from, std::uint64_t alignment) {
    lists_.clear();
    taken_.collect(x.first - part_.first, x.last - part_.first, lists_);
    return lowest_fit(lists_, from, x.high - x.low, alignment, cursors_);
  }

  const part& part_;
  occupancy taken_;
  std::vector<const range_list*> lists_;
  std::vector<range_cursor> cursors_;
};

/// Returns: the items placed by first fit, the pinned ones first, the others in the given order. Complexity: O(n log^2
/// n) if taken bytes coalesce, as they mostly do.
[[nodiscard]] inline placement place_in_order(const part& p, const std::vector<std::uint32_t>& order) {
  placement result;
  result.offsets.assign(p.size(), 0);
  first_fit packer(p);
  const auto put = [&](std::uint32_t i, std::uint64_t offset) {
    packer.put(i, offset);
    result.offsets[i] = offset;
    result.height = std::max(result.height, offset + p[i].size);
  };
  for (std::uint32_t i = 0; i < p.size(); ++i)
    if (p.pinned(i)) put(i, p.pin(i));
  for (const std::uint32_t i : order)
    if (!p.pinned(i)) put(i, packer.find(i));
  return result;
}

/// Returns: whether two pinned items overlap. Complexity: O(p log^2 n).
[[nodiscard]] inline bool pins_collide(const part& p) {
  bool any = false;
  for (std::uint32_t i = 0; i < p.size(); ++i) any = any || p.pinned(i);
  if (!any) return false;
  first_fit packer(p);
  for (std::uint32_t i = 0; i < p.size(); ++i) {
    if (!p.pinned(i)) continue;
    if (packer.find(i, p.pin(i)) != p.pin(i)) return true;
    packer.put(i, p.pin(i));
  }
  return false;
}

inline void keep_better(placement& best, placement&& other) {
  if (best.offsets.empty() || other.height < best.height) best = std::move(other);
}

/// The largest first, but up to eight smaller items may pass each.
[[nodiscard]] inline std::vector<std::uint32_t> shuffled_order(const part& p, std::uint64_t seed) {
  std::vector<std::uint32_t> items = sorted_by(p, order::size_life);
  splitmix random(seed);
  for (std::size_t k = 0; k + 1 < items.size(); ++k)
    std::swap(items[k], items[k + random.index(std::min<std::size_t>(8, items.size() - k))]);
  return items;
}

/// Returns: the first placement of some orders that is no higher than `target`, otherwise the lowest. At least one
/// order is tried; after that the budget is checked before each. `hasty` tries two.
[[nodiscard]] inline placement best_of_orders(const part& p, std::uint64_t target, std::uint64_t seed, budget& effort,
                                              bool hasty = false) {
  placement best;
  std::size_t tried = 0;
  for (const order o : all_orders) {
    if (!best.offsets.empty() && (best.height <= target || effort.exhausted())) return best;
    keep_better(best, place_in_order(p, sorted_by(p, o)));
    if (hasty && ++tried == 2) return best;
  }
  if (seed != 0 && best.height > target && !effort.exhausted())
    keep_better(best, place_in_order(p, shuffled_order(p, seed)));
  return best;
}

/// Returns: the items, none of which is pinned, placed from the bottom up; among those that fit equally low, the first
/// of the order. Empty if the budget ended before. Complexity: O(log n) for each time an item lost its place before it
/// was placed; thousands of these count as one node of the budget.
[[nodiscard]] inline placement place_from_below(const part& p, order o, budget& effort) {
  constexpr std::uint64_t tries_per_node = 4096;
  using candidate = std::pair<std::uint64_t, std::uint32_t>;  // offset, rank
  const std::vector<std::uint32_t> items = sorted_by(p, o);
  skyline line(p.sections());
  const auto lowest = [&](std::uint32_t i) {
    std::uint64_t offset = 0;
    for (const interval* x = p.begin(i); x != p.end(i); ++x) {
      const std::uint64_t below = line.over(x->first - p.first, x->last - p.first);
      offset = std::max(offset, below - std::min(below, x->low));
    }
    return round_up(offset, p[i].alignment);
  };
  std::vector<candidate> all;
  for (std::uint32_t k = 0; k < items.size(); ++k) all.emplace_back(0, k);
  std::priority_queue<candidate, std::vector<candidate>, std::greater<>> open(std::greater<>(), std::move(all));
  placement result;
  result.offsets.assign(items.size(), 0);
  for (std::uint64_t tries = 1; !open.empty(); ++tries) {
    if (tries % tries_per_node == 0 && !effort.spend()) return {};
    const auto [offset, rank] = open.top();
    open.pop();
    const std::uint32_t i = items[rank];
    const std::uint64_t at = lowest(i);
    if (at != offset) {
      open.emplace(at, rank);
      continue;
    }
    for (const interval* x = p.begin(i); x != p.end(i); ++x)
      line.raise(x->first - p.first, x->last - p.first, at + x->high);
    result.offsets[i] = at;
    result.height = std::max(result.height, at + p[i].size);
  }
  return result;
}

/// Returns: a placement that keeps the wished offsets below `height`, largest items first, and places the others by
/// first fit. It may be higher than `height`; the caller then discards it. Empty if pins collide.
[[nodiscard]] inline placement stay_close(const part& p, const std::vector<std::uint64_t>& wished,
                                          std::uint64_t height) {
  first_fit packer(p);
  placement kept;
  kept.offsets.assign(p.size(), 0);
  std::vector<bool> done(p.size());
  const auto put = [&](std::uint32_t i, std::uint64_t offset) {
    packer.put(i, offset);
    done[i] = true;
    kept.offsets[i] = offset;
    kept.height = std::max(kept.height, offset + p[i].size);
  };
  for (std::uint32_t i = 0; i < p.size(); ++i)
    if (p.pinned(i)) put(i, p.pin(i));
  const std::vector<std::uint32_t> items = sorted_by(p, order::size_life);
  for (const std::uint32_t i : items)
    if (!done[i] && wished[i] <= height && p[i].size <= height - wished[i] && packer.find(i, wished[i]) == wished[i])
      put(i, wished[i]);
  for (const std::uint32_t i : items)
    if (!done[i]) put(i, packer.find(i));
  return kept;
}

}  // namespace ashlar::ASHLAR_ABI::detail::planner
