// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether the figures of a board fit its capacity: a search that settles, again and again, what lies lowest in one
// section.
//
//   capacity ------------------------------      At a clean section, whose lowest candidates nothing unplaced can
//        |      +---+                            slide beneath, either one of the candidates lies at the lowest floor,
//        |  +---+   |      +-----+               or none does and all of them rise to the next offset that something
//        |  |   +---+--+   |     |               could support. Both are tried; nothing else can be.
//        +--+----------+---+-----+--- time
//              a valley ^
//
//   Sections that have failed often are tried first, restarts with doubling budgets rotate the rules, and failed
//   states are shared by all restarts at one capacity.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/board.hpp>
#include <ashlar/plan/budget.hpp>
#include <ashlar/plan/failed_states.hpp>
#include <ashlar/plan/ranking.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan::valley {

/// What a search found out.
enum class verdict {
  fits,      ///< The board holds the offsets.
  fails,     ///< Everything was tried.
  undecided  ///< The budget ended.
};

/// Which section to settle next.
enum class rule {
  contested,  ///< Few options for its weight: where past tries have failed.
  leading     ///< The tightest of the lowest sections in which the figure of highest rank lies.
};

class search {
public:
  search(const board_shape& shape, std::uint64_t capacity, budget& allowance)
      : board_(shape, capacity), allowance_(allowance) {
    std::uint64_t memberships = 0;
    for (const strip& s : shape.strips) memberships += s.last - s.first;
    work_per_node_ = 16 * (memberships + 64);
    for (const ranking r : {ranking::life, ranking::breadth, ranking::breadth_life, ranking::height})
      ranks_.push_back(ranks_by(shape, r));
  }

  /// Effects: tries until there is a verdict or the budget ends.
  [[nodiscard]] verdict run();

  /// Returns: the offset of a figure, in bytes. Expects: the verdict was `fits`.
  [[nodiscard]] std::uint64_t offset(std::uint32_t f) const noexcept {
    return static_cast<std::uint64_t>(board_.offset(f) * board_.shape().unit);
  }

  [[nodiscard]] std::uint64_t table_hits() const noexcept { return hits_; }

private:
  struct extent {
    std::uint32_t first;
    std::uint32_t last;
    friend bool operator<(const extent& a, const extent& b) {
      return a.last - a.first != b.last - b.first ? a.last - a.first < b.last - b.first : a.first < b.first;
    }
  };

  [[nodiscard]] verdict attempt(rule choice, std::size_t ranking, std::uint64_t nodes);
  [[nodiscard]] bool solve(extent e);
  [[nodiscard]] bool solve_connected(extent e);
  [[nodiscard]] bool branch(extent e);
  [[nodiscard]] bool try_candidates(extent e, std::uint32_t section, std::size_t first, std::size_t last);
  [[nodiscard]] bool try_hole(extent e, std::uint32_t section, std::size_t first, std::size_t last);
  [[nodiscard]] std::uint32_t free_move(extent e) const noexcept;
  [[nodiscard]] bool is_free(std::uint32_t f) const noexcept;
  [[nodiscard]] bool outside_above(std::uint32_t f, std::uint32_t section, units offset) const noexcept;
  [[nodiscard]] bool lives_in(std::uint32_t f, std::uint32_t section) const noexcept;
  [[nodiscard]] units next_support(std::uint32_t section) const noexcept;
  [[nodiscard]] units support_from_outside(std::uint32_t f, std::uint32_t section) const noexcept;
  [[nodiscard]] bool clean(std::uint32_t section) const noexcept;
  [[nodiscard]] units lowest(extent e) const noexcept;
  [[nodiscard]] std::uint32_t choose(extent e) const noexcept;
  [[nodiscard]] std::uint32_t choose_contested(extent e) const noexcept;
  [[nodiscard]] std::uint32_t choose_leading(extent e) const noexcept;
  void push_candidates(std::uint32_t section);
  [[nodiscard]] std::uint64_t make_key(extent e);
  template <class Visit>
  bool all_of_neighbours(std::uint32_t f, Visit visit) const noexcept;

  static constexpr std::uint32_t none = ~std::uint32_t{0};
  // Deeper recursion than this could run out of stack; the search then gives up as if the budget had ended.
  static constexpr std::uint32_t deepest = 6000;

  board board_;
  budget& allowance_;
  failed_states failed_;
  failed_states::key key_;
  std::vector<std::vector<std::uint32_t>> ranks_;
  const std::vector<std::uint32_t>* rank_ = nullptr;
  rule rule_ = rule::contested;
  std::vector<std::uint32_t> candidates_;  // a stack: each level of the search owns the end of it
  std::uint64_t nodes_left_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t work_per_node_ = 1;  // inferences that look at more count as further nodes
  std::uint32_t depth_ = 0;
  bool given_up_ = false;
};

inline verdict search::run() {
  const std::size_t count = board_.shape().figures.size();
  for (std::uint64_t nodes = 2 * count + 16;; nodes *= 2)
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      for (const rule choice : {rule::contested, rule::leading}) {
        const verdict v = attempt(choice, r, nodes);
        if (v != verdict::undecided || allowance_.exhausted()) return v;
      }
}

inline verdict search::attempt(rule choice, std::size_t ranking, std::uint64_t nodes) {
  rule_ = choice;
  rank_ = &ranks_[ranking];
  nodes_left_ = nodes;
  given_up_ = false;
  candidates_.clear();
  if (!board_.reset()) return verdict::fails;
  if (solve({0, board_.shape().sections})) return verdict::fits;
  return given_up_ ? verdict::undecided : verdict::fails;
}

/// Cuts time where nothing unplaced crosses; the parts are independent, so the first to fail settles it.
inline bool search::solve(extent e) {
  if (!board_.shape().contiguous) return solve_connected(e);
  std::vector<extent> parts;
  for (std::uint32_t t = e.first; t < e.last; ++t) {
    if (board_.section(t).live == 0) continue;
    const std::uint32_t first = t;
    while (board_.section(t).crossing != 0) ++t;
    parts.push_back({first, t + 1});
  }
  std::sort(parts.begin(), parts.end());
  return std::all_of(parts.begin(), parts.end(), [&](const extent& part) { return solve_connected(part); });
}

inline bool search::solve_connected(extent e) {
  const std::uint64_t price = 1 + board_.take_work() / work_per_node_;
  if (nodes_left_ == 0 || depth_ == deepest || !allowance_.spend(price)) {
    given_up_ = true;
    return false;
  }
  nodes_left_ -= std::min(price, nodes_left_);
  const std::uint64_t hash = make_key(e);
  if (key_.empty()) return true;
  if (failed_.contains(hash, key_)) {
    ++hits_;
    return false;
  }
  ++depth_;
  const bool fits = branch(e);
  --depth_;
  if (fits || given_up_) return fits;
  const std::uint64_t again = make_key(e);  // the levels below have overwritten the key
  failed_.insert(again, key_);
  return false;
}

inline bool search::branch(extent e) {
  const std::size_t mark = board_.mark();
  const std::uint32_t f = free_move(e);
  if (f != none) {
    if (board_.place(f) && solve(e)) return true;
    board_.undo(mark);
    return false;
  }
  const std::uint32_t section = choose(e);
  const std::size_t first = candidates_.size();
  push_candidates(section);
  const std::size_t last = candidates_.size();
  const bool fits = try_candidates(e, section, first, last) || (!given_up_ && try_hole(e, section, first, last));
  candidates_.resize(first);
  return fits;
}

inline bool search::try_candidates(extent e, std::uint32_t, std::size_t first, std::size_t last) {
  const std::size_t mark = board_.mark();
  const auto twin = [&](std::size_t k) { return board_.shape().figures[candidates_[k]].twin; };
  for (std::size_t k = first; k < last; ++k) {
    bool tried = false;
    for (std::size_t j = first; j < k; ++j) tried = tried || twin(j) == twin(k);
    if (tried) continue;
    if (board_.place(candidates_[k]) && solve(e)) return true;
    board_.undo(mark);
    if (given_up_) return false;
  }
  return false;
}

/// Nothing lies at the lowest floor of the section. Hopeless if it wastes more than the slack; and if a candidate
/// fits the hole and would touch nothing outside, then placing it there, which has been tried, was as good.
inline bool search::try_hole(extent e, std::uint32_t section, std::size_t first, std::size_t last) {
  const units slack = board_.slack(section);
  if (slack <= 0) return false;
  const units low = board_.section(section).low;
  const units to = next_support(section);
  if (to >= far || to - low - board_.pinned_between(section, low, to) > slack) return false;
  for (std::size_t k = first; k < last; ++k) {
    const std::uint32_t f = candidates_[k];
    const units top = low + board_.shape().figures[f].height;
    if (top <= to && outside_above(f, section, top)) return false;
  }
  const std::size_t mark = board_.mark();
  if (board_.raise_candidates(section, to) && solve(e)) return true;
  board_.undo(mark);
  return false;
}

template <class Visit>
bool search::all_of_neighbours(std::uint32_t f, Visit visit) const noexcept {
  const board_shape& shape = board_.shape();
  const auto all = [&](const member* m, const member* end) { return std::all_of(m, end, visit); };
  for (const strip* s = shape.begin(f); s != shape.end(f); ++s) {
    if (!all(shape.members.begin(s->first), shape.members.end(s->first))) return false;
    for (std::uint32_t t = s->first + 1; t < s->last; ++t)
      if (!all(shape.entering.begin(t), shape.entering.end(t))) return false;
  }
  return true;
}

/// Whether placing `f` on its floor raises no other floor: then it costs nothing, and no other choice can be better.
inline bool search::is_free(std::uint32_t f) const noexcept {
  const units floor = board_.floor(f);
  const board_shape& shape = board_.shape();
  for (const strip* s = shape.begin(f); s != shape.end(f); ++s)
    for (std::uint32_t t = s->first; t < s->last; ++t)
      if (board_.section(t).low < floor || board_.section(t).candidates != 1) return false;
  const units top = floor + shape.figures[f].height;
  return all_of_neighbours(f, [&](const member& m) { return m.item == f || board_.floor(m.item) >= top; });
}

inline std::uint32_t search::free_move(extent e) const noexcept {
  const std::vector<std::uint32_t>& starting = board_.shape().starting_at;
  for (std::uint32_t f = starting[e.first]; f < starting[e.last]; ++f)
    if (!board_.placed(f) && is_free(f)) return f;
  return none;
}

inline bool search::lives_in(std::uint32_t f, std::uint32_t section) const noexcept {
  return std::any_of(board_.shape().begin(f), board_.shape().end(f),
                     [&](const strip& s) { return s.first <= section && section < s.last; });
}

/// Whether every unplaced neighbour of `f` that does not live in the section lies at `offset` or above.
inline bool search::outside_above(std::uint32_t f, std::uint32_t section, units offset) const noexcept {
  return all_of_neighbours(
      f, [&](const member& m) { return board_.floor(m.item) >= offset || lives_in(m.item, section); });
}

/// Returns: the least offset at which the lowest figure of the section can lie, if not at the lowest floor.
inline units search::next_support(std::uint32_t section) const noexcept {
  const board_shape& shape = board_.shape();
  const units low = board_.section(section).low;
  units next = far;
  for (const member* m = shape.members.begin(section); m != shape.members.end(section); ++m) {
    if (board_.placed(m->item)) continue;
    const units floor = board_.floor(m->item);
    next = std::min(next, floor > low ? floor : support_from_outside(m->item, section));
  }
  return next;
}

/// Returns: the lowest top that is not in the section and above the floor of `f`, on which `f` could rest.
inline units search::support_from_outside(std::uint32_t f, std::uint32_t section) const noexcept {
  const board_shape& shape = board_.shape();
  const units floor = board_.floor(f);
  units next = far;
  for (const strip* s = shape.begin(f); s != shape.end(f); ++s)
    for (std::uint32_t t = s->first; t < s->last; ++t)
      for (const member* m = shape.members.begin(t); m != shape.members.end(t); ++m) {
        const units top = board_.floor(m->item) + m->height;
        if (top > floor && top < next && !lives_in(m->item, section)) next = top;
      }
  for (const offset_range* r = shape.forbidden.begin(f); r != shape.forbidden.end(f); ++r)
    if (r->end > floor) next = std::min(next, r->end);
  return next >= far ? far : board_.settle(f, next);
}

/// Whether nothing unplaced can still slide beneath a candidate of the section.
inline bool search::clean(std::uint32_t section) const noexcept {
  const board_shape& shape = board_.shape();
  const units low = board_.section(section).low;
  for (const member* m = shape.members.begin(section); m != shape.members.end(section); ++m) {
    if (board_.floor(m->item) != low) continue;
    for (const strip* s = shape.begin(m->item); s != shape.end(m->item); ++s)
      for (std::uint32_t t = s->first; t < s->last; ++t)
        if (board_.section(t).top <= low) return false;
  }
  return true;
}

inline units search::lowest(extent e) const noexcept {
  units low = far;
  for (std::uint32_t t = e.first; t < e.last; ++t) low = std::min(low, board_.section(t).low);
  return low;
}

inline std::uint32_t search::choose(extent e) const noexcept {
  return rule_ == rule::contested ? choose_contested(e) : choose_leading(e);
}

/// Fractions options/weight are compared crosswise; a section with one option is forced and comes first.
inline std::uint32_t search::choose_contested(extent e) const noexcept {
  const units low = lowest(e);
  std::uint32_t best = none;
  std::uint64_t best_options = 0, best_weight = 1;
  units best_slack = 0;
  for (std::uint32_t t = e.first; t < e.last; ++t) {
    const section_state& s = board_.section(t);
    if (s.live == 0) continue;
    const units slack = board_.slack(t);
    std::uint64_t options = s.candidates + (slack > 0);
    if (options == 1) options = 0;
    const std::uint64_t weight = board_.weight(t);
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

inline std::uint32_t search::choose_leading(extent e) const noexcept {
  const board_shape& shape = board_.shape();
  const units low = lowest(e);
  std::uint32_t leader = none;
  for (std::uint32_t f = shape.starting_at[e.first]; f < shape.starting_at[e.last]; ++f)
    if (board_.floor(f) == low && (leader == none || (*rank_)[f] > (*rank_)[leader])) leader = f;
  std::uint32_t best = none;
  for (const strip* s = shape.begin(leader); s != shape.end(leader); ++s)
    for (std::uint32_t t = s->first; t < s->last; ++t)
      if (best == none || board_.slack(t) < board_.slack(best)) best = t;
  return best;
}

inline void search::push_candidates(std::uint32_t section) {
  const std::size_t first = candidates_.size();
  const member* m = board_.shape().members.begin(section);
  for (; m != board_.shape().members.end(section); ++m)
    if (board_.floor(m->item) == board_.section(section).low) candidates_.push_back(m->item);
  std::sort(candidates_.begin() + static_cast<std::ptrdiff_t>(first), candidates_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return (*rank_)[a] > (*rank_)[b]; });
}

/// Effects: writes the state of the extent into `key_`; empty if all is placed. Returns: its hash.
inline std::uint64_t search::make_key(extent e) {
  const std::vector<std::uint32_t>& starting = board_.shape().starting_at;
  std::uint64_t hash = 0;
  key_.clear();
  for (std::uint32_t f = starting[e.first]; f < starting[e.last]; ++f) {
    if (board_.placed(f)) continue;
    hash += board_.hash(f);
    key_.push_back(f);
    key_.push_back(static_cast<std::uint64_t>(board_.floor(f)));
  }
  return hash;
}

}  // namespace plan::valley
}  // namespace ASHLAR_ABI
}  // namespace ashlar
