// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decides whether the items of a part fit a capacity: the search fixes the lowest items of one section at a time.
//
//       capacity ------------------------------      In a clean section no unplaced item can slide beneath its lowest
//            |      +---+                            candidates. Then either one of the candidates lies at the lowest
//            |  +---+   |      +-----+               floor, or all of them rise to the next offset that another item
//            |  |   +---+--+   |     |               could support. The search tries both; there is no third case.
//            +--+----------+---+-----+--- time
//                a section ^
//
// Sections that failed often are tried first. Restarts with doubling budgets rotate the rules, and all restarts at one
// capacity share the failed states.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/planner/search_limits.hpp>
#include <ashlar/detail/planner/search_state.hpp>

namespace ashlar::ASHLAR_ABI::detail::planner {

/// The choice of the next section to fix.
enum class rule {
  contested,  ///< Few options for its weight: earlier attempts failed there.
  leading     ///< The tightest of the lowest sections of the item with the highest rank.
};

class section_search {
  using interval = section_table::interval;
  using member = section_table::member;

public:
  section_search(const section_table& table, std::uint64_t capacity, budget& effort)
      : state_(table, capacity), effort_(effort) {
    std::uint64_t memberships = 0;
    for (const interval& s : table.intervals) memberships += s.last - s.first;
    work_per_node_ = 16 * (memberships + 64);
    for (const ranking r : {ranking::life, ranking::breadth, ranking::breadth_life, ranking::height})
      ranks_.push_back(ranks_by(table, r));
  }

  /// Effects: searches until a verdict or the end of the budget.
  [[nodiscard]] verdict run() {
    const std::size_t count = state_.table().items.size();
    for (std::uint64_t nodes = 2 * count + 16;; nodes *= 2)
      for (std::size_t r = 0; r < ranks_.size(); ++r)
        for (const rule choice : {rule::contested, rule::leading}) {
          const verdict v = attempt(choice, r, nodes);
          if (v != verdict::undecided || effort_.exhausted()) return v;
        }
  }

  /// Returns: the offset of an item, in bytes. Expects: the verdict was `fits`.
  [[nodiscard]] std::uint64_t offset(std::uint32_t i) const noexcept {
    return static_cast<std::uint64_t>(state_.offset(i) * state_.table().unit);
  }

  [[nodiscard]] std::uint64_t table_hits() const noexcept { return hits_; }

private:
  struct range {
    std::uint32_t first;
    std::uint32_t last;
    friend bool operator<(const range& a, const range& b) {
      return a.last - a.first != b.last - b.first ? a.last - a.first < b.last - b.first : a.first < b.first;
    }
  };

  [[nodiscard]] verdict attempt(rule choice, std::size_t ranking, std::uint64_t nodes) {
    rule_ = choice;
    rank_ = &ranks_[ranking];
    nodes_left_ = nodes;
    given_up_ = false;
    candidates_.clear();
    if (!state_.reset()) return verdict::fails;
    if (solve({0, state_.table().sections})) return verdict::fits;
    return given_up_ ? verdict::undecided : verdict::fails;
  }

  /// Cuts time where no unplaced item crosses. The parts are independent, so the first one to fail decides.
  [[nodiscard]] bool solve(range r) {
    if (!state_.table().contiguous) return solve_connected(r);
    std::vector<range> parts;
    for (std::uint32_t t = r.first; t < r.last; ++t) {
      if (state_.section(t).live == 0) continue;
      const std::uint32_t first = t;
      while (state_.section(t).crossing != 0) ++t;
      parts.push_back({first, t + 1});
    }
    std::sort(parts.begin(), parts.end());
    return std::all_of(parts.begin(), parts.end(), [&](const range& part) { return solve_connected(part); });
  }

  [[nodiscard]] bool solve_connected(range r) {
    const std::uint64_t price = 1 + state_.take_work() / work_per_node_;
    if (nodes_left_ == 0 || depth_ == deepest || !effort_.spend(price)) {
      given_up_ = true;
      return false;
    }
    nodes_left_ -= std::min(price, nodes_left_);
    const std::uint64_t hash = make_key(r);
    if (key_.empty()) return true;
    if (failed_.contains(hash, key_)) {
      ++hits_;
      return false;
    }
    ++depth_;
    const bool fits = branch(r);
    --depth_;
    if (fits || given_up_) return fits;
    const std::uint64_t again = make_key(r);  // the levels below have overwritten the key
    failed_.insert(again, key_);
    return false;
  }

  [[nodiscard]] bool branch(range r) {
    const std::size_t mark = state_.mark();
    const std::uint32_t i = free_move(r);
    if (i != none) {
      if (state_.place(i) && solve(r)) return true;
      state_.undo(mark);
      return false;
    }
    const std::uint32_t section = choose(r);
    const std::size_t first = candidates_.size();
    push_candidates(section);
    const std::size_t last = candidates_.size();
    const bool fits = try_candidates(r, section, first, last) || (!given_up_ && try_hole(r, section, first, last));
    candidates_.resize(first);
    return fits;
  }

  [[nodiscard]] bool try_candidates(range r, std::uint32_t, std::size_t first, std::size_t last) {
    const std::size_t mark = state_.mark();
    const auto twin = [&](std::size_t k) { return state_.table().items[candidates_[k]].twin; };
    for (std::size_t k = first; k < last; ++k) {
      bool tried = false;
      for (std::size_t j = first; j < k; ++j) tried = tried || twin(j) == twin(k);
      if (tried) continue;
      if (state_.place(candidates_[k]) && solve(r)) return true;
      state_.undo(mark);
      if (given_up_) return false;
    }
    return false;
  }

  /// No item lies at the lowest floor of the section. Hopeless if this wastes more than the slack. Also hopeless if a
  /// candidate fits the hole and touches nothing outside: placing it there has been tried and was as good.
  [[nodiscard]] bool try_hole(range r, std::uint32_t section, std::size_t first, std::size_t last) {
    const units slack = state_.slack(section);
    if (slack <= 0) return false;
    const units low = state_.section(section).low;
    const units to = next_support(section);
    if (to >= beyond || to - low - state_.pinned_between(section, low, to) > slack) return false;
    for (std::size_t k = first; k < last; ++k) {
      const std::uint32_t i = candidates_[k];
      const units top = low + state_.table().items[i].height;
      if (top <= to && outside_above(i, section, top)) return false;
    }
    const std::size_t mark = state_.mark();
    if (state_.raise_candidates(section, to) && solve(r)) return true;
    state_.undo(mark);
    return false;
  }

  [[nodiscard]] std::uint32_t free_move(range r) const noexcept {
    const std::vector<std::uint32_t>& starting = state_.table().starting_at;
    for (std::uint32_t i = starting[r.first]; i < starting[r.last]; ++i)
      if (!state_.placed(i) && is_free(i)) return i;
    return none;
  }

  /// Returns: whether placing `i` on its floor raises no other floor. Then no other choice can be better.
  [[nodiscard]] bool is_free(std::uint32_t i) const noexcept {
    const units floor = state_.floor(i);
    const section_table& table = state_.table();
    for (const interval* s = table.begin(i); s != table.end(i); ++s)
      for (std::uint32_t t = s->first; t < s->last; ++t)
        if (state_.section(t).low < floor || state_.section(t).candidates != 1) return false;
    const units top = floor + table.items[i].height;
    return all_of_neighbours(i, [&](const member& m) { return m.item == i || state_.floor(m.item) >= top; });
  }

  /// Returns: whether every unplaced neighbour of `i` outside the section lies at `offset` or above.
  [[nodiscard]] bool outside_above(std::uint32_t i, std::uint32_t section, units offset) const noexcept {
    return all_of_neighbours(
        i, [&](const member& m) { return state_.floor(m.item) >= offset || lives_in(m.item, section); });
  }

  [[nodiscard]] bool lives_in(std::uint32_t i, std::uint32_t section) const noexcept {
    return std::any_of(state_.table().begin(i), state_.table().end(i),
                       [&](const interval& s) { return s.first <= section && section < s.last; });
  }

  /// Returns: the least offset above the lowest floor at which the lowest item of the section can lie.
  [[nodiscard]] units next_support(std::uint32_t section) const noexcept {
    const section_table& table = state_.table();
    const units low = state_.section(section).low;
    units next = beyond;
    for (const member* m = table.members.begin(section); m != table.members.end(section); ++m) {
      if (state_.placed(m->item)) continue;
      const units floor = state_.floor(m->item);
      next = std::min(next, floor > low ? floor : support_from_outside(m->item, section));
    }
    return next;
  }

  /// Returns: the lowest top outside the section and above the floor of `i` that could support `i`.
  [[nodiscard]] units support_from_outside(std::uint32_t i, std::uint32_t section) const noexcept {
    const section_table& table = state_.table();
    const units floor = state_.floor(i);
    units next = beyond;
    for (const interval* s = table.begin(i); s != table.end(i); ++s)
      for (std::uint32_t t = s->first; t < s->last; ++t)
        for (const member* m = table.members.begin(t); m != table.members.end(t); ++m) {
          const units top = state_.floor(m->item) + m->height;
          if (top > floor && top < next && !lives_in(m->item, section)) next = top;
        }
    for (const offset_range* r = table.forbidden.begin(i); r != table.forbidden.end(i); ++r)
      if (r->end > floor) next = std::min(next, r->end);
    return next >= beyond ? beyond : state_.lowest_offset(i, next);
  }

  /// Returns: whether no unplaced item can still slide beneath a candidate of the section.
  [[nodiscard]] bool clean(std::uint32_t section) const noexcept {
    const section_table& table = state_.table();
    const units low = state_.section(section).low;
    for (const member* m = table.members.begin(section); m != table.members.end(section); ++m) {
      if (state_.floor(m->item) != low) continue;
      for (const interval* s = table.begin(m->item); s != table.end(m->item); ++s)
        for (std::uint32_t t = s->first; t < s->last; ++t)
          if (state_.section(t).top <= low) return false;
    }
    return true;
  }

  [[nodiscard]] units lowest(range r) const noexcept {
    units low = beyond;
    for (std::uint32_t t = r.first; t < r.last; ++t) low = std::min(low, state_.section(t).low);
    return low;
  }

  [[nodiscard]] std::uint32_t choose(range r) const noexcept {
    return rule_ == rule::contested ? choose_contested(r) : choose_leading(r);
  }

  /// Compares the fractions options/weight crosswise; a section with one option is forced and comes first.
  [[nodiscard]] std::uint32_t choose_contested(range r) const noexcept {
    const units low = lowest(r);
    std::uint32_t best = none;
    std::uint64_t best_options = 0, best_weight = 1;
    units best_slack = 0;
    for (std::uint32_t t = r.first; t < r.last; ++t) {
      const section_state& s = state_.section(t);
      if (s.live == 0) continue;
      const units slack = state_.slack(t);
      std::uint64_t options = s.candidates + (slack > 0);
      if (options == 1) options = 0;
      const std::uint64_t weight = state_.weight(t);
      const std::uint64_t here = options * best_weight, there = best_options * weight;
      if (best != none && (here > there || (here == there && slack >= best_slack))) continue;
      if (s.low != low && !clean(t)) continue;
      best = t;
      best_options = options;
      best_weight = weight;
      best_slack = slack;
    }
    return best;
  }

  [[nodiscard]] std::uint32_t choose_leading(range r) const noexcept {
    const section_table& table = state_.table();
    const units low = lowest(r);
    std::uint32_t leader = none;
    for (std::uint32_t i = table.starting_at[r.first]; i < table.starting_at[r.last]; ++i)
      if (state_.floor(i) == low && (leader == none || (*rank_)[i] > (*rank_)[leader])) leader = i;
    std::uint32_t best = none;
    for (const interval* s = table.begin(leader); s != table.end(leader); ++s)
      for (std::uint32_t t = s->first; t < s->last; ++t)
        if (best == none || state_.slack(t) < state_.slack(best)) best = t;
    return best;
  }

  void push_candidates(std::uint32_t section) {
    const std::size_t first = candidates_.size();
    const member* m = state_.table().members.begin(section);
    for (; m != state_.table().members.end(section); ++m)
      if (state_.floor(m->item) == state_.section(section).low) candidates_.push_back(m->item);
    std::sort(candidates_.begin() + static_cast<std::ptrdiff_t>(first), candidates_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return (*rank_)[a] > (*rank_)[b]; });
  }

  /// Effects: writes the state of the range to `key_`; empty if all items are placed. Returns: its hash.
  [[nodiscard]] std::uint64_t make_key(range r) {
    const std::vector<std::uint32_t>& starting = state_.table().starting_at;
    std::uint64_t hash = 0;
    key_.clear();
    for (std::uint32_t i = starting[r.first]; i < starting[r.last]; ++i) {
      if (state_.placed(i)) continue;
      hash += state_.hash(i);
      key_.push_back(i);
      key_.push_back(static_cast<std::uint64_t>(state_.floor(i)));
    }
    return hash;
  }

  template <class Visit>
  bool all_of_neighbours(std::uint32_t i, Visit visit) const noexcept {
    const section_table& table = state_.table();
    const auto all = [&](const member* m, const member* end) { return std::all_of(m, end, visit); };
    for (const interval* s = table.begin(i); s != table.end(i); ++s) {
      if (!all(table.members.begin(s->first), table.members.end(s->first))) return false;
      for (std::uint32_t t = s->first + 1; t < s->last; ++t)
        if (!all(table.entering.begin(t), table.entering.end(t))) return false;
    }
    return true;
  }

  static constexpr std::uint32_t none = ~std::uint32_t{0};
  // Deeper recursion could exhaust the stack; the search then gives up as if the budget had ended.
  static constexpr std::uint32_t deepest = 6000;

  search_state state_;
  budget& effort_;
  failed_states failed_;
  failed_states::key key_;
  std::vector<std::vector<std::uint32_t>> ranks_;
  const std::vector<std::uint32_t>* rank_ = nullptr;
  rule rule_ = rule::contested;
  std::vector<std::uint32_t> candidates_;  // a stack: each level of the search owns its end
  std::uint64_t nodes_left_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t work_per_node_ = 1;  // inferences with more work count as further nodes
  std::uint32_t depth_ = 0;
  bool given_up_ = false;
};

}  // namespace ashlar::ASHLAR_ABI::detail::planner
