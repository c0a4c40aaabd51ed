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
#include <ashlar/detail/planner/descent.hpp>
#include <ashlar/detail/planner/greedy.hpp>
#include <ashlar/detail/planner/instance.hpp>
#include <ashlar/detail/planner/order_search.hpp>
#include <ashlar/detail/planner/search_limits.hpp>
#include <ashlar/plan/layout.hpp>
#include <ashlar/plan/options.hpp>

namespace ashlar::ASHLAR_ABI::detail::planner {

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
