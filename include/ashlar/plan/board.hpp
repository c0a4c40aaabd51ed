// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The state of a valley search: for every figure still to be placed, the lowest offset it can have.
//
//   A state is a floor per unplaced figure, nothing else: it is feasible if there are offsets, none below its floor,
//   none ending above the capacity, at which no two unplaced figures that share a section overlap. Whatever is
//   inferred below follows from that alone, so a state that failed once fails wherever it turns up again.
//
//   Packings may be assumed settled (nothing can move down): a figure rests on its floor, on another figure or on
//   something pinned. Per section the figures above its lowest floor form a stack with at most
//   `slack = capacity - low - load` wasted. Three inferences follow:
//     - stacked in the order of their floors, the figures must end below the capacity (release dates of one machine);
//     - a floor no stack can reach, wasting no more than the slack, rises to the next offset that one can
//       (sums of subsets, in a bit set, where the slack is small);
//     - without the bit set: a floor above `low + slack` rises to the lowest top of another figure.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/board_shape.hpp>
#include <ashlar/plan/reachable.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan::valley {

/// What is kept per section.
struct section_state {
  units load = 0;                ///< Heights of the unplaced figures.
  units low = 0;                 ///< The lowest floor of an unplaced figure; `far` if there is none.
  units top = 0;                 ///< The lowest floor plus height.
  std::uint32_t live = 0;        ///< Unplaced figures.
  std::uint32_t candidates = 0;  ///< Unplaced figures whose floor is `low`.
  std::uint32_t crossing = 0;    ///< Unplaced strips that go on into the next section.
};

/// Floors with undo.
class board {
public:
  /// Expects: `capacity`, in bytes, is at most 2^62.
  board(const board_shape& shape, std::uint64_t capacity);

  [[nodiscard]] const board_shape& shape() const noexcept { return shape_; }
  [[nodiscard]] units capacity() const noexcept { return capacity_; }
  [[nodiscard]] units floor(std::uint32_t f) const noexcept { return floors_[f]; }
  [[nodiscard]] bool placed(std::uint32_t f) const noexcept { return floors_[f] >= far; }
  [[nodiscard]] units offset(std::uint32_t f) const noexcept { return offsets_[f]; }
  [[nodiscard]] const section_state& section(std::uint32_t t) const noexcept { return sections_[t]; }
  [[nodiscard]] std::uint64_t hash(std::uint32_t f) const noexcept { return hashes_[f]; }
  [[nodiscard]] std::uint32_t weight(std::uint32_t t) const noexcept { return weights_[t]; }

  /// Returns: how many members of sections inferences have looked at since the last call.
  [[nodiscard]] std::uint64_t take_work() noexcept { return std::exchange(work_, 0); }

  /// Returns: what may still be wasted in a section.
  [[nodiscard]] units slack(std::uint32_t t) const noexcept {
    const section_state& s = sections_[t];
    return capacity_ - s.load - s.low - pinned_between(t, s.low, capacity_);
  }

  /// Returns: the units of `[low, high)` that something pinned takes in a section.
  [[nodiscard]] units pinned_between(std::uint32_t t, units low, units high) const noexcept {
    units sum = 0;
    for (const offset_range* p = shape_.pinned.begin(t); p != shape_.pinned.end(t); ++p)
      sum += std::max<units>(0, std::min(p->end, high) - std::max(p->begin, low));
    return sum;
  }

  /// Effects: everything unplaced, floors at zero, then inferences. Weights of sections are kept.
  /// Returns: false if that is infeasible already.
  [[nodiscard]] bool reset();

  /// A point to come back to.
  [[nodiscard]] std::size_t mark() const noexcept { return trail_.size(); }
  void undo(std::size_t mark) noexcept;

  /// Effects: places `f` on its floor, everything unplaced that shares a section with it above it; infers.
  /// Returns: false if that is infeasible; the caller then undoes it.
  [[nodiscard]] bool place(std::uint32_t f);

  /// Effects: raises the floors that are `low` in section `t` to `to`; infers. Returns: as `place`.
  [[nodiscard]] bool raise_candidates(std::uint32_t t, units to);

  /// Returns: the least offset, not below `from`, that alignment and pinned figures leave to `f`.
  [[nodiscard]] units settle(std::uint32_t f, units from) const noexcept;

private:
  enum class change : std::uint8_t { floor, section, placement };
  struct record {
    change what;
    std::uint32_t index;
    units first;          // floor: the old one; section: the old low
    units second;         // section: the old top
    std::uint64_t third;  // floor: the old hash; section: the old number of candidates
  };

  // How far inferences go: with patience at an end they only look whether the section can still be filled.
  enum class effort : std::uint8_t { full, sums, none };

  [[nodiscard]] static std::uint64_t mix(std::uint64_t x) noexcept {
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
  }

  [[nodiscard]] static std::uint64_t hash_of(std::uint32_t f, units floor) noexcept {
    return floor >= far ? 0 : mix(mix(f) + static_cast<std::uint64_t>(floor));
  }

  void count(std::uint32_t f, int sign) noexcept;
  void set_floor(std::uint32_t f, units to);
  [[nodiscard]] bool raise(std::uint32_t f, units to);
  void touch(std::uint32_t t);
  [[nodiscard]] bool infer();
  [[nodiscard]] bool infer(std::uint32_t t, effort e);
  void sort_by_floor(std::uint32_t t) noexcept;
  [[nodiscard]] units summarize(std::uint32_t t);
  [[nodiscard]] bool raise_by_sums(std::uint32_t t);
  [[nodiscard]] bool raise_by_slack(std::uint32_t t, units slack);
  [[nodiscard]] bool fail(std::uint32_t t) noexcept;

  // Wider slack lets almost every offset through, so the sums are not worth their time there.
  static constexpr units widest_slack = 32;

  board_shape shape_;
  units capacity_;
  std::vector<units> ceilings_;  // the highest offset of each figure
  std::vector<units> floors_;
  std::vector<units> offsets_;
  std::vector<std::uint64_t> hashes_;
  std::vector<section_state> sections_;
  std::vector<std::uint32_t> weights_;  // how often a section was the one to fail
  std::vector<record> trail_;
  std::vector<std::uint32_t> touched_;
  std::vector<bool> is_touched_;
  std::vector<units> lifted_;  // scratch of raise_by_sums
  std::uint64_t work_ = 0;
};

inline board::board(const board_shape& shape, std::uint64_t capacity)
    : shape_(shape), capacity_((static_cast<units>(capacity) + shape.unit - 1) / shape.unit),
      floors_(shape.figures.size()), offsets_(shape.figures.size()), hashes_(shape.figures.size()),
      sections_(shape.sections), weights_(shape.sections, 1), is_touched_(shape.sections) {
  // In bytes: only what rounding adds to the highest figure may stick out of the capacity.
  for (const figure& f : shape.figures)
    ceilings_.push_back(f.bytes > capacity ? -1 : static_cast<units>(capacity - f.bytes) / shape.unit);
}

inline bool board::reset() {
  trail_.clear();
  for (std::uint32_t t = 0; t < shape_.sections; ++t) sections_[t] = {};
  for (std::uint32_t f = 0; f < floors_.size(); ++f) {
    floors_[f] = settle(f, 0);
    hashes_[f] = hash_of(f, floors_[f]);
    offsets_[f] = -1;
    count(f, 1);
    if (floors_[f] > ceilings_[f]) return false;
  }
  for (std::uint32_t t = 0; t < shape_.sections; ++t) touch(t);
  return infer();
}

inline void board::undo(std::size_t mark) noexcept {
  for (; trail_.size() > mark; trail_.pop_back()) {
    const record& r = trail_.back();
    if (r.what == change::floor) {
      floors_[r.index] = r.first;
      hashes_[r.index] = r.third;
    } else if (r.what == change::section) {
      sections_[r.index].low = r.first;
      sections_[r.index].top = r.second;
      sections_[r.index].candidates = static_cast<std::uint32_t>(r.third);
    } else {
      offsets_[r.index] = -1;
      count(r.index, 1);
    }
  }
}

inline bool board::place(std::uint32_t f) {
  const units offset = floors_[f];
  offsets_[f] = offset;
  trail_.push_back({change::placement, f, 0, 0, 0});
  count(f, -1);
  set_floor(f, far);
  for (const strip* s = shape_.begin(f); s != shape_.end(f); ++s) {
    const units above = offset + s->height;
    const auto lift = [&](const member* m, const member* end) {
      for (; m != end; ++m)
        if (floors_[m->item] < above && !raise(m->item, above)) return fail(s->first);
      return true;
    };
    if (!lift(shape_.members.begin(s->first), shape_.members.end(s->first))) return false;
    for (std::uint32_t t = s->first + 1; t < s->last; ++t)
      if (!lift(shape_.entering.begin(t), shape_.entering.end(t))) return false;
  }
  return infer();
}

inline bool board::raise_candidates(std::uint32_t t, units to) {
  const units low = sections_[t].low;
  for (const member* m = shape_.members.begin(t); m != shape_.members.end(t); ++m)
    if (floors_[m->item] == low && !raise(m->item, to)) return fail(t);
  return infer();
}

inline units board::settle(std::uint32_t f, units from) const noexcept {
  const units alignment = shape_.figures[f].alignment;
  const auto align = [&](units n) { return alignment == 1 ? n : (n + alignment - 1) / alignment * alignment; };
  from = align(from);
  for (const offset_range* r = shape_.forbidden.begin(f); r != shape_.forbidden.end(f); ++r)
    if (from >= r->begin && from < r->end) from = align(r->end);
  return from;
}

inline void board::count(std::uint32_t f, int sign) noexcept {
  for (const strip* s = shape_.begin(f); s != shape_.end(f); ++s)
    for (std::uint32_t t = s->first; t < s->last; ++t) {
      sections_[t].load += sign * s->height;
      sections_[t].live += static_cast<std::uint32_t>(sign);
      if (t + 1 < s->last) sections_[t].crossing += static_cast<std::uint32_t>(sign);
    }
}

inline void board::set_floor(std::uint32_t f, units to) {
  trail_.push_back({change::floor, f, floors_[f], 0, hashes_[f]});
  floors_[f] = to;
  hashes_[f] = hash_of(f, to);
  for (const strip* s = shape_.begin(f); s != shape_.end(f); ++s)
    for (std::uint32_t t = s->first; t < s->last; ++t) touch(t);
}

inline bool board::raise(std::uint32_t f, units to) {
  to = settle(f, to);
  if (to > ceilings_[f]) return false;
  set_floor(f, to);
  return true;
}

inline void board::touch(std::uint32_t t) {
  if (is_touched_[t]) return;
  is_touched_[t] = true;
  touched_.push_back(t);
}

/// Forgets what is still to be looked at, and remembers who was to blame.
inline bool board::fail(std::uint32_t t) noexcept {
  ++weights_[t];
  for (const std::uint32_t u : touched_) is_touched_[u] = false;
  touched_.clear();
  return false;
}

inline bool board::infer() {
  // First come, first served: what many figures touch is looked at once they all have moved. Where sizes are tiny
  // against the capacity, floors can creep up on each other byte by byte; they need not be followed to the end.
  const std::size_t patience = 2 * touched_.size() + 32;
  for (std::size_t k = 0; k < touched_.size(); ++k) {
    const std::uint32_t t = touched_[k];
    is_touched_[t] = false;
    work_ += sections_[t].live + std::uint64_t{1};
    if (!infer(t, k < patience ? effort::full : k < 64 * patience ? effort::sums : effort::none)) return fail(t);
  }
  touched_.clear();
  return true;
}

inline bool board::infer(std::uint32_t t, effort e) {
  sort_by_floor(t);
  if (summarize(t) > capacity_) return false;
  if (sections_[t].live == 0) return true;
  const units waste = slack(t);
  if (waste < 0) return false;
  if (!shape_.pinned.empty(t)) return true;
  const member& highest = shape_.members.begin(t)[sections_[t].live - 1];
  if (floors_[highest.item] <= sections_[t].low + waste) return true;  // mere waste can hold up each of them
  if (waste <= widest_slack && capacity_ < reachable::limit) return e == effort::none || raise_by_sums(t);
  return e != effort::full || raise_by_slack(t, waste);
}

/// The members of a section are kept in the order of their floors; placed ones come last. Mostly sorted already.
inline void board::sort_by_floor(std::uint32_t t) noexcept {
  member* const first = shape_.members.begin(t);
  member* const last = shape_.members.end(t);
  for (member* m = first; m != last; ++m) {
    const member moving = *m;
    const units floor = floors_[moving.item];
    member* to = m;
    for (; to != first && floors_[(to - 1)->item] > floor; --to) *to = *(to - 1);
    *to = moving;
    work_ += static_cast<std::uint64_t>(m - to);
  }
}

/// Effects: renews low, top and candidates of the section. Returns: where its stack ends at least.
inline units board::summarize(std::uint32_t t) {
  section_state now = sections_[t];
  const member* m = shape_.members.begin(t);
  units end = 0;
  now.low = now.live == 0 ? far : floors_[m->item];
  now.top = far;
  now.candidates = 0;
  for (std::uint32_t k = 0; k < now.live; ++k, ++m) {
    const units floor = floors_[m->item];
    now.candidates += floor == now.low;
    now.top = std::min(now.top, floor + m->height);
    end = std::max(end, floor) + m->height;
  }
  section_state& old = sections_[t];
  if (old.low != now.low || old.top != now.top || old.candidates != now.candidates) {
    trail_.push_back({change::section, t, old.low, old.top, old.candidates});
    old = now;
  }
  return end;
}

/// A figure rests on figures with lower floors, whose sums are known when its turn comes, or on one with a higher
/// floor, whose top bounds it, and then on some sum of all.
inline bool board::raise_by_sums(std::uint32_t t) {
  const member* const m = shape_.members.begin(t);
  const std::uint32_t live = sections_[t].live;
  const units low = sections_[t].low;
  reachable sums(capacity_, low, slack(t));
  lifted_.resize(live);
  for (std::uint32_t k = 0; k < live; ++k) {
    lifted_[k] = sums.next(floors_[m[k].item]);
    sums.stack(floors_[m[k].item], m[k].height);
  }
  units top = far;  // the lowest top of a figure with a higher floor
  for (std::uint32_t k = live; k-- > 0;) {
    const units floor = floors_[m[k].item];
    if (lifted_[k] != floor && top < far) lifted_[k] = std::min(lifted_[k], sums.next(std::max(top, floor)));
    top = std::min(top, floor + m[k].height);
  }
  for (std::uint32_t k = 0; k < live; ++k)
    if (lifted_[k] > floors_[m[k].item] && !raise(m[k].item, lifted_[k])) return false;
  return true;
}

inline bool board::raise_by_slack(std::uint32_t t, units slack) {
  const member* const m = shape_.members.begin(t);
  const std::uint32_t live = sections_[t].live;
  const units reach = sections_[t].low + slack;
  units least = far, second = far;
  for (std::uint32_t k = 0; k < live; ++k) {
    const units top = floors_[m[k].item] + m[k].height;
    second = std::min(second, std::max(least, top));
    least = std::min(least, top);
  }
  if (reach >= second) return true;
  for (std::uint32_t k = live; k != 0; --k) {
    const auto& member = m[k - 1];
    const units floor = floors_[member.item];
    if (floor <= reach) break;
    const units support = floor + member.height == least ? second : least;
    if (floor < support && !raise(member.item, support)) return false;
  }
  return true;
}

}  // namespace plan::valley
}  // namespace ASHLAR_ABI
}  // namespace ashlar
