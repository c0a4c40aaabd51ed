// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans one address space: parts in time one by one, greedily first, then exactly where that can still help.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/budget.hpp>
#include <ashlar/plan/layout.hpp>
#include <ashlar/plan/load.hpp>
#include <ashlar/plan/model.hpp>
#include <ashlar/plan/options.hpp>
#include <ashlar/plan/order_search.hpp>
#include <ashlar/plan/partition.hpp>
#include <ashlar/plan/pinned.hpp>
#include <ashlar/plan/portfolio.hpp>
#include <ashlar/plan/refine.hpp>
#include <ashlar/plan/shape.hpp>
#include <ashlar/plan/skyline.hpp>
#include <ashlar/plan/windows.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

/// What became of one address space. `offsets` are by shape; those not planned here are left alone.
struct space_result {
  std::uint64_t height = 0;
  std::uint64_t bound = 0;
  plan::status status = plan::status::unknown;
  plan::proof proof = plan::proof::none;
  bool placed = true;  ///< False if pins collide: then there are no offsets.
};

/// Plans some of the shapes of a problem into one address space.
class space_planner {
public:
  space_planner(const shapes& all, const std::vector<std::uint32_t>& chosen, const options& wanted, budget& allowance,
                statistics& stats)
      : all_(all), wanted_(wanted), allowance_(allowance), stats_(stats), whole_(make_model(all, chosen)) {}

  /// Effects: writes the offsets of the chosen shapes. Expects: `offsets` has an entry per shape.
  space_result run(std::vector<std::uint64_t>& offsets) {
    if (pins_collide(whole_)) return {0, 0, status::infeasible, proof::pins, false};
    load_ = load_bound_of(whole_).height;
    pinned_ = pinned_height(whole_);
    for (const item& x : whole_.items) largest_ = std::max(largest_, x.size);
    stats_.sections += whole_.sections;
    split();
    place_greedily();
    if (wanted_.effort != effort::fast) refine();
    write(offsets);
    return verdict();
  }

  [[nodiscard]] const model& whole() const noexcept { return whole_; }

private:
  struct part {
    model items;
    interval known;
    bool valleys = true;  // the valley search understands it
  };

  // More section memberships than this, and the boards of the exact search would not fit the cache, or the stack.
  static constexpr std::uint64_t largest_board = 400'000;
  static constexpr std::size_t most_items = 4'000;
  static constexpr std::size_t most_skyline_items = 200'000;
  static constexpr std::uint64_t most_skyline_nodes = 12'000;

  [[nodiscard]] static std::uint64_t memberships(const model& m) noexcept {
    std::uint64_t sum = 0;
    for (const piece& p : m.pieces) sum += p.last - p.first;
    return sum;
  }

  void split() {
    for (const auto& shapes_of_part : partition(whole_)) {
      part p;
      p.items = make_model(all_, shapes_of_part);
      p.known.bound = std::max(load_bound_of(p.items).height, pinned_height(p.items));
      p.valleys = detail::starts_at_offset(p.items);
      parts_.push_back(std::move(p));
    }
    stats_.partitions += static_cast<std::uint32_t>(parts_.size());
  }

  /// No part needs to be lower than this.
  [[nodiscard]] std::uint64_t goal() const noexcept {
    if (wanted_.capacity) return *wanted_.capacity;
    return bound();
  }

  [[nodiscard]] std::uint64_t bound() const noexcept {
    std::uint64_t bound = std::max(load_, pinned_);
    for (const part& p : parts_) bound = std::max(bound, p.known.bound);
    return bound;
  }

  [[nodiscard]] std::uint64_t height() const noexcept {
    std::uint64_t height = std::max(pinned_, largest_);
    for (const part& p : parts_) height = std::max(height, p.known.best.height);
    return height;
  }

  void place_greedily() {
    for (part& p : parts_) {
      const bool hasty = wanted_.effort == effort::fast && p.items.items.size() > most_items;
      p.known.best = best_of_orders(p.items, goal(), wanted_.seed, allowance_, hasty);
    }
    stats_.greedy_height = std::max(stats_.greedy_height, height());
    report();
  }

  void refine() {
    if (wanted_.capacity && bound() > *wanted_.capacity) return;  // one part is hopeless already
    std::vector<std::size_t> order(parts_.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return parts_[a].known.best.height != parts_[b].known.best.height
                 ? parts_[a].known.best.height > parts_[b].known.best.height
                 : a < b;
    });
    for (const std::size_t k : order) refine(parts_[k]);
  }

  void refine(part& p) {
    if (p.known.best.height <= goal() || allowance_.exhausted()) return;
    const bool small = p.items.items.size() <= most_items && memberships(p.items) <= largest_board;
    if (p.valleys ? !small : !order_search::accepts(p.items)) {
      place_from_below(p);
      if (p.valleys) lower_peaks(p.items, p.known.best, goal(), allowance_, stats_);
      return report();
    }
    refiner search(p.items);
    if (wanted_.capacity) decide(search, p);
    else search.descend(p.known, goal(), allowance_, stats_, [&](const interval&) { report(); });
    report();
  }

  /// Too dear for millions of items, and unable to respect pins.
  void place_from_below(part& p) {
    if (p.items.items.size() > most_skyline_items || pinned_ != 0) return;
    budget slice = allowance_.slice(most_skyline_nodes);
    placement found = plan::place_from_below(p.items, order::time_area, slice);
    allowance_.charge(slice);
    stats_.nodes += slice.spent();
    if (!found.offsets.empty() && found.height < p.known.best.height) p.known.best = std::move(found);
  }

  void decide(refiner& search, part& p) {
    if (p.known.bound > *wanted_.capacity) return;
    search.attempt(p.known, *wanted_.capacity, std::numeric_limits<std::uint64_t>::max(), allowance_, stats_);
  }

  void report() const {
    if (wanted_.on_progress) wanted_.on_progress({height(), bound(), stats_.nodes});
  }

  void write(std::vector<std::uint64_t>& offsets) const {
    for (const item& x : whole_.items)
      if (x.pin != unpinned) offsets[x.origin] = x.pin;
    for (const part& p : parts_)
      for (std::size_t i = 0; i < p.items.items.size(); ++i) offsets[p.items.items[i].origin] = p.known.best.offsets[i];
  }

  /// What the bound rests on.
  [[nodiscard]] proof reason() const noexcept {
    if (bound() == load_) return proof::load;
    const auto searched = [&](const part& p) { return p.known.by_search && p.known.bound == bound(); };
    if (bound() == pinned_) return proof::pins;
    return std::any_of(parts_.begin(), parts_.end(), searched) ? proof::exhaustion : proof::load;
  }

  [[nodiscard]] space_result verdict() const {
    if (wanted_.capacity && bound() > *wanted_.capacity) return {height(), bound(), status::infeasible, reason()};
    if (height() == bound()) return {height(), bound(), status::optimal, reason()};
    if (wanted_.capacity && height() > *wanted_.capacity) return {height(), bound(), status::unknown, proof::none};
    return {height(), bound(), status::feasible, proof::none};
  }

  const shapes& all_;
  const options& wanted_;
  budget& allowance_;
  statistics& stats_;
  model whole_;
  std::uint64_t load_ = 0;
  std::uint64_t pinned_ = 0;
  std::uint64_t largest_ = 0;  // of the items, some of which may live in no part
  std::vector<part> parts_;
};

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
