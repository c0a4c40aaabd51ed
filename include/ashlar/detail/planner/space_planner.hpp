// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans one address space part by part: greedily first, then exactly if that can still help.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/layout.hpp>
#include <ashlar/detail/planner/greedy.hpp>
#include <ashlar/detail/planner/instance.hpp>
#include <ashlar/detail/planner/order_search.hpp>
#include <ashlar/detail/planner/search_limits.hpp>
#include <ashlar/detail/planner/section_search.hpp>

namespace ashlar::ASHLAR_ABI::detail::planner {

using plan::statistics;

/// The best known placement of a part, and a proved lower bound of its height.
struct bracket {
  placement best;
  std::uint64_t bound = 0;
  bool by_search = false;  ///< Exhausting a search raised the bound.
};

/// Searches one part exactly: by sections if every interval starts at the offset of its item, otherwise by orders.
class exact_search {
public:
  /// Expects: `starts_at_offset(p)` or `order_search::accepts(p)`; pinned items do not collide.
  explicit exact_search(const part& p) : part_(p), by_sections_(starts_at_offset(p)) {
    if (by_sections_) table_ = make_table(p);
  }

  /// Effects: tries one capacity. On a fit `x.best` improves; on exhaustion `x.bound` rises above the capacity.
  verdict attempt(bracket& x, std::uint64_t capacity, std::uint64_t nodes, budget& effort, statistics& stats) {
    budget slice = effort.slice(nodes);
    // Copying the table costs about one node, so that attempts that end at once count too.
    if (!slice.spend()) return verdict::undecided;
    const verdict v = by_sections_ ? search_sections(x, capacity, slice, stats) : search_orders(x, capacity, slice);
    effort.charge(slice);
    stats.nodes += slice.spent();
    if (v == verdict::fails) {
      x.bound = std::max(x.bound, (capacity / step() + 1) * step());
      x.by_search = true;
    }
    return v;
  }

  /// Effects: approaches the least height, but not below `goal`, in rounds of doubling budgets. Each round tries the
  /// bound itself first, which is usually met, then heights ever farther above the excluded ones.
  template <class Report>
  void descend(bracket& x, std::uint64_t goal, budget& effort, statistics& stats, Report report) {
    std::uint64_t nodes = std::uint64_t{64} * (part_.size() + 16);
    for (; is_undecided(x, goal) && !effort.exhausted(); nodes = std::max(nodes, nodes * 2)) {
      std::uint64_t low = std::max(x.bound, goal);
      std::uint64_t stride = 0;  // doubles with every capacity found too small, so that distant bounds are reached
      while (low < x.best.height && !effort.exhausted()) {
        const verdict v = attempt(x, low, nodes, effort, stats);
        report(x);
        if (v == verdict::fits) break;
        const std::uint64_t half = std::max(low + step(), low + (x.best.height - low) / 2 / step() * step());
        low = v == verdict::fails ? std::min(half, std::max(low, x.bound) + stride) : half;
        if (v == verdict::fails) stride = std::min(2 * stride + step(), x.best.height);
      }
    }
  }

private:
  [[nodiscard]] verdict search_sections(bracket& x, std::uint64_t capacity, budget& slice, statistics& stats) {
    section_search search(table_, capacity, slice);
    const verdict v = search.run();
    stats.table_hits += search.table_hits();
    if (v == verdict::fits) x.best = extract(search);
    return v;
  }

  [[nodiscard]] verdict search_orders(bracket& x, std::uint64_t capacity, budget& slice) {
    order_search search(part_, capacity, slice);
    const verdict v = search.run();
    if (v != verdict::fits) return v;
    x.best.height = 0;
    for (std::size_t i = 0; i < part_.size(); ++i) put(x.best, i, search.offset(i));
    return v;
  }

  void put(placement& p, std::size_t i, std::uint64_t offset) const {
    p.offsets.resize(part_.size());
    p.offsets[i] = offset;
    p.height = std::max(p.height, offset + part_[i].size);
  }

  [[nodiscard]] static bool is_undecided(const bracket& x, std::uint64_t goal) noexcept {
    return x.best.height > std::max(x.bound, goal);
  }

  /// Heights are multiples of this, except for those that pinned items alone determine.
  [[nodiscard]] std::uint64_t step() const noexcept {
    const auto unit = static_cast<std::uint64_t>(table_.unit);
    if (!by_sections_) return 1;
    const auto padded = [&](const section_table::item& i) { return i.bytes % unit != 0; };
    return std::any_of(table_.items.begin(), table_.items.end(), padded) ? 1 : unit;
  }

  [[nodiscard]] placement extract(const section_search& search) const {
    placement p;
    for (std::uint32_t i = 0; i < table_.items.size(); ++i) put(p, table_.items[i].origin, search.offset(i));
    for (std::size_t i = 0; i < part_.size(); ++i)
      if (part_.pinned(i)) put(p, i, part_.pin(i));
    return p;
  }

  const part& part_;
  bool by_sections_;
  section_table table_;
};

/// A window of time around a peak. Items that live wholly inside are free; items that reach in are pinned to their
/// offsets.
class window {
public:
  window(const part& p, const placement& now, std::uint32_t first, std::uint32_t last) {
    view_.all = p.all;
    view_.first = first;
    view_.last = last;
    for (std::uint32_t k = 0; k < p.size(); ++k) add(p, now, k);
  }

  [[nodiscard]] std::size_t free_items() const noexcept { return free_; }
  [[nodiscard]] const part& items() const noexcept { return view_; }

  /// Effects: moves the items to the offsets of `found`.
  void apply(const placement& found, placement& whole) const {
    for (std::size_t k = 0; k < origins_.size(); ++k) whole.offsets[origins_[k]] = found.offsets[k];
  }

private:
  void add(const part& p, const placement& now, std::uint32_t k) {
    bool inside = !p.pinned(k), touches = false;
    for (const interval* x = p.begin(k); x != p.end(k); ++x) {
      inside = inside && view_.first <= x->first && x->last <= view_.last;
      touches = touches || (x->first < view_.last && view_.first < x->last);
    }
    if (!touches) return;
    free_ += inside;
    view_.items.push_back(p.items[k]);
    view_.pins.push_back(inside ? unpinned : now.offsets[k]);
    origins_.push_back(k);
  }

  part view_;
  std::vector<std::uint32_t> origins_;  // the position of each item in the part
  std::size_t free_ = 0;
};

/// Returns: the item that ends highest.
[[nodiscard]] inline std::uint32_t highest_item(const part& p, const placement& now) noexcept {
  std::uint32_t best = 0;
  for (std::uint32_t i = 1; i < p.size(); ++i)
    if (now.offsets[i] + p[i].size > now.offsets[best] + p[best].size) best = i;
  return best;
}

/// Returns: the range of the item's sections, with a margin on either side.
[[nodiscard]] inline std::pair<std::uint32_t, std::uint32_t> around(const part& p, std::uint32_t i,
                                                                    std::uint32_t margin) noexcept {
  std::uint32_t first = p.last, last = p.first;
  for (const interval* x = p.begin(i); x != p.end(i); ++x) {
    first = std::min(first, x->first);
    last = std::max(last, x->last);
  }
  return {first - std::min(first - p.first, margin), last + std::min(p.last - last, margin)};
}

[[nodiscard]] inline std::uint64_t height_of(const part& p, const placement& now) noexcept {
  std::uint64_t height = 0;
  for (std::size_t i = 0; i < p.size(); ++i) height = std::max(height, now.offsets[i] + p[i].size);
  return height;
}

/// Effects: replans a window of time around the highest item, repeatedly; a window that fails is doubled up to a limit.
/// Ends at `goal`, at a peak that no window can lower, or with the budget.
inline void lower_peaks(const part& p, placement& now, std::uint64_t goal, budget& effort, statistics& stats) {
  constexpr std::size_t most_free = 1500;
  constexpr std::uint64_t nodes = 4000;
  constexpr std::size_t items_per_node = 4096;  // scanning the items takes time as well
  std::uint32_t margin = 1;
  while (now.height > goal && !effort.exhausted()) {
    const std::uint32_t peak = highest_item(p, now);
    if (p.pinned(peak)) return;
    if (!effort.spend(1 + p.size() / items_per_node)) return;
    const auto [first, last] = around(p, peak, margin);
    const window nearby(p, now, first, last);
    if (nearby.free_items() > most_free) return;
    ++stats.windows;
    bracket x;
    x.best.height = now.height;
    exact_search search(nearby.items());
    const std::uint64_t target = std::max(goal, now.height - std::max<std::uint64_t>(1, (now.height - goal) / 8));
    if (search.attempt(x, target, nodes, effort, stats) == verdict::fits) {
      nearby.apply(x.best, now);
      now.height = height_of(p, now);
      margin = std::max<std::uint32_t>(1, margin / 2);
    } else {
      if (first == p.first && last == p.last) return;
      margin *= 2;
    }
  }
}

using plan::effort;
using plan::options;
using plan::proof;
using plan::statistics;
using plan::status;

/// The outcome for one address space.
struct space_result {
  std::uint64_t height = 0;
  std::uint64_t bound = 0;
  plan::status status = plan::status::unknown;
  plan::proof proof = plan::proof::none;
  bool placed = true;  ///< False if pins collide: there are no offsets.
};

/// Plans an instance into one address space.
class space_planner {
public:
  space_planner(const instance& all, const options& wanted, budget& effort, statistics& stats)
      : all_(all), wanted_(wanted), effort_(effort), stats_(stats), whole_(whole_of(all)) {}

  /// Effects: writes the offsets of the items, except of those without an interval or a pin. Expects: `offsets` has an
  /// entry per item.
  space_result run(std::vector<std::uint64_t>& offsets) {
    if (pins_collide(whole_)) return {0, 0, status::infeasible, proof::pins, false};
    load_ = load_bound_of(whole_).height;
    pinned_ = pinned_height(whole_);
    for (const item& x : all_.items) largest_ = std::max(largest_, x.size);
    stats_.sections += all_.sections;
    split();
    place_greedily();
    if (wanted_.effort != effort::fast) refine();
    write(offsets);
    return verdict();
  }

private:
  struct known_part {
    part items;
    bracket known;
    bool by_sections = true;  // the section search accepts it
  };

  // With more section memberships the tables of the exact search would not fit the cache, or the stack.
  static constexpr std::uint64_t largest_table = 400'000;
  static constexpr std::size_t most_items = 4'000;
  static constexpr std::size_t most_skyline_items = 200'000;
  static constexpr std::uint64_t most_skyline_nodes = 12'000;

  [[nodiscard]] static std::uint64_t memberships(const part& p) noexcept {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < p.size(); ++i)
      for (const interval* x = p.begin(i); x != p.end(i); ++x) sum += x->last - x->first;
    return sum;
  }

  void split() {
    for (part& items : parts_of(all_)) {
      bracket known;
      known.bound = std::max(load_bound_of(items).height, pinned_height(items));
      const bool by_sections = starts_at_offset(items);
      parts_.push_back({std::move(items), std::move(known), by_sections});
    }
    stats_.partitions += static_cast<std::uint32_t>(parts_.size());
  }

  /// Returns: the height below which no part has to go.
  [[nodiscard]] std::uint64_t goal() const noexcept {
    if (wanted_.capacity) return *wanted_.capacity;
    return bound();
  }

  [[nodiscard]] std::uint64_t bound() const noexcept {
    std::uint64_t bound = std::max(load_, pinned_);
    for (const known_part& p : parts_) bound = std::max(bound, p.known.bound);
    return bound;
  }

  [[nodiscard]] std::uint64_t height() const noexcept {
    std::uint64_t height = std::max(pinned_, largest_);
    for (const known_part& p : parts_) height = std::max(height, p.known.best.height);
    return height;
  }

  void place_greedily() {
    for (known_part& p : parts_) {
      const bool hasty = wanted_.effort == effort::fast && p.items.size() > most_items;
      p.known.best = best_of_orders(p.items, goal(), wanted_.seed, effort_, hasty);
    }
    stats_.greedy_height = std::max(stats_.greedy_height, height());
    report();
  }

  void refine() {
    if (wanted_.capacity && bound() > *wanted_.capacity) return;  // one part cannot fit
    std::vector<std::size_t> order(parts_.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return parts_[a].known.best.height != parts_[b].known.best.height
                 ? parts_[a].known.best.height > parts_[b].known.best.height
                 : a < b;
    });
    for (const std::size_t k : order) refine(parts_[k]);
  }

  void refine(known_part& p) {
    if (p.known.best.height <= goal() || effort_.exhausted()) return;
    const bool is_small = p.items.size() <= most_items && memberships(p.items) <= largest_table;
    if (p.by_sections ? !is_small : !order_search::accepts(p.items)) {
      place_from_below(p);
      if (p.by_sections) lower_peaks(p.items, p.known.best, goal(), effort_, stats_);
      return report();
    }
    exact_search search(p.items);
    if (wanted_.capacity) decide(search, p);
    else search.descend(p.known, goal(), effort_, stats_, [&](const bracket&) { report(); });
    report();
  }

  /// Too slow for millions of items, and unable to respect pins.
  void place_from_below(known_part& p) {
    if (p.items.size() > most_skyline_items || pinned_ != 0) return;
    budget slice = effort_.slice(most_skyline_nodes);
    placement found = planner::place_from_below(p.items, order::time_area, slice);
    effort_.charge(slice);
    stats_.nodes += slice.spent();
    if (!found.offsets.empty() && found.height < p.known.best.height) p.known.best = std::move(found);
  }

  void decide(exact_search& search, known_part& p) {
    if (p.known.bound > *wanted_.capacity) return;
    search.attempt(p.known, *wanted_.capacity, std::numeric_limits<std::uint64_t>::max(), effort_, stats_);
  }

  void report() const {
    if (wanted_.on_progress) wanted_.on_progress({height(), bound(), stats_.nodes});
  }

  void write(std::vector<std::uint64_t>& offsets) const {
    for (std::size_t i = 0; i < all_.items.size(); ++i)
      if (all_.items[i].pin != unpinned) offsets[i] = all_.items[i].pin;
    for (const known_part& p : parts_)
      for (std::size_t k = 0; k < p.items.size(); ++k) offsets[p.items.items[k]] = p.known.best.offsets[k];
  }

  /// Returns: the reason for the bound.
  [[nodiscard]] proof reason() const noexcept {
    if (bound() == load_) return proof::load;
    const auto searched = [&](const known_part& p) { return p.known.by_search && p.known.bound == bound(); };
    if (bound() == pinned_) return proof::pins;
    return std::any_of(parts_.begin(), parts_.end(), searched) ? proof::exhaustion : proof::load;
  }

  [[nodiscard]] space_result verdict() const {
    if (wanted_.capacity && bound() > *wanted_.capacity) return {height(), bound(), status::infeasible, reason()};
    if (height() == bound()) return {height(), bound(), status::optimal, reason()};
    if (wanted_.capacity && height() > *wanted_.capacity) return {height(), bound(), status::unknown, proof::none};
    return {height(), bound(), status::feasible, proof::none};
  }

  const instance& all_;
  const options& wanted_;
  budget& effort_;
  statistics& stats_;
  part whole_;
  std::uint64_t load_ = 0;
  std::uint64_t pinned_ = 0;
  std::uint64_t largest_ = 0;  // of the items, some of which may live in no part
  std::vector<known_part> parts_;
};

}  // namespace ashlar::ASHLAR_ABI::detail::planner
