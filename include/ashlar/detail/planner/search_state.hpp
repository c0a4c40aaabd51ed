// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The state of a section search: for every unplaced item, its lowest possible offset.
//
// A state is one floor per unplaced item, and nothing else. It is feasible if there are offsets, none below its floor
// and none ending above the capacity, at which no two unplaced items of a section overlap. All inferences below follow
// from that alone, so a state that failed once always fails.
//
// Packings may be assumed compact (nothing can move down): an item rests on its floor, on another item or on a pinned
// one. In each section the items above its lowest floor form a stack that wastes at most `slack = capacity - low -
// load`. Three inferences follow:
//     - stacked in the order of their floors, the items must end below the capacity (release dates of one machine);
//     - a floor that no stack can reach within the slack rises to the next offset that one can
//       (sums of subsets, in a bit set, if the slack is small);
//     - without the bit set: a floor above `low + slack` rises to the lowest top of another item.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/planner/search_limits.hpp>
#include <ashlar/detail/planner/section_table.hpp>

namespace ashlar::ASHLAR_ABI::detail::planner {

/// Bit `p` is set if some stack from `low` that wastes at most `slack` can end at `p`.
class subset_sums {
public:
  /// Capacities must be below this.
  static constexpr units limit = 4096;

  /// Expects: `capacity < limit`, `low + slack <= capacity`.
  subset_sums(units capacity, units low, units slack) noexcept : words_(word_of(capacity) + 1), highest_(low + slack) {
    std::fill(bits_.begin() + static_cast<std::ptrdiff_t>(word_of(low)),
              bits_.begin() + static_cast<std::ptrdiff_t>(words_), 0);
    for (units p = low; p <= low + slack; ++p) bits_[word_of(p)] |= std::uint64_t{1} << (p & 63);
  }

  /// Expects: `floor >= low`. Effects: lets an item of the given height follow every stack that ends at `floor` or
  /// above. If items are added in the order of their floors, no order of stacking is missed: two neighbours in a stack
  /// can always be swapped into that order.
  void stack(units floor, units height) noexcept {
    const std::size_t from = word_of(floor);
    const auto skip = static_cast<std::size_t>(height >> 6);
    if (floor > highest_ || from + skip >= words_) return;
    highest_ += height;
    const std::uint64_t kept = bits_[from];
    bits_[from] &= ~std::uint64_t{0} << (floor & 63);
    const std::uint64_t above = bits_[from];
    add_shifted(from, skip, static_cast<unsigned>(height & 63));
    bits_[from] = skip == 0 ? kept | (above << (height & 63)) : kept;
  }

  /// Returns: the least attainable offset not below `from`, or `beyond`.
  [[nodiscard]] units next(units from) const noexcept {
    std::size_t w = word_of(from);
    if (w >= words_) return beyond;
    std::uint64_t bits = bits_[w] & (~std::uint64_t{0} << (from & 63));
    while (bits == 0) {
      if (++w == words_) return beyond;
      bits = bits_[w];
    }
    return static_cast<units>(w * 64 + first_bit(bits));
  }

private:
  [[nodiscard]] static std::size_t word_of(units p) noexcept { return static_cast<std::size_t>(p >> 6); }

  /// From the top down, so that every word is read before it changes; the caller handles the lowest word.
  void add_shifted(std::size_t from, std::size_t skip, unsigned shift) noexcept {
    const std::size_t lowest = from + std::max<std::size_t>(skip, 1);
    for (std::size_t w = std::min(words_, word_of(highest_) + 1); w-- > lowest;) {
      std::uint64_t sum = bits_[w - skip] << shift;
      // Two shifts, because a shift by 64 is undefined.
      if (w - skip > from) sum |= (bits_[w - skip - 1] >> 1) >> (63 - shift);
      bits_[w] |= sum;
    }
  }

  std::size_t words_;
  units highest_;  // nothing above is attainable; may exceed the capacity
  std::array<std::uint64_t, static_cast<std::size_t>(limit) / 64 + 1>
      bits_;  // only those from the word of `low` on have a value
};

/// The state of one section.
struct section_state {
  units load = 0;                ///< Heights of the unplaced items.
  units low = 0;                 ///< The lowest floor of an unplaced item; `beyond` if there is none.
  units top = 0;                 ///< The lowest floor plus height.
  std::uint32_t live = 0;        ///< Unplaced items.
  std::uint32_t candidates = 0;  ///< Unplaced items with the floor `low`.
  std::uint32_t crossing = 0;    ///< Unplaced intervals that continue in the next section.
};

/// Floors with undo.
class search_state {
  using interval = section_table::interval;
  using member = section_table::member;

public:
  /// Expects: `capacity`, in bytes, is at most 2^62.
  search_state(const section_table& table, std::uint64_t capacity)
      : table_(table), capacity_((static_cast<units>(capacity) + table.unit - 1) / table.unit),
        floors_(table.items.size()), offsets_(table.items.size()), hashes_(table.items.size()),
        sections_(table.sections), weights_(table.sections, 1), is_touched_(table.sections) {
    // In bytes: only the padding that rounding adds to the highest item may exceed the capacity.
    for (const section_table::item& x : table.items)
      ceilings_.push_back(x.bytes > capacity ? -1 : static_cast<units>(capacity - x.bytes) / table.unit);
  }

  [[nodiscard]] const section_table& table() const noexcept { return table_; }
  [[nodiscard]] units capacity() const noexcept { return capacity_; }
  [[nodiscard]] units floor(std::uint32_t i) const noexcept { return floors_[i]; }
  [[nodiscard]] bool placed(std::uint32_t i) const noexcept { return floors_[i] >= beyond; }
  [[nodiscard]] units offset(std::uint32_t i) const noexcept { return offsets_[i]; }
  [[nodiscard]] const section_state& section(std::uint32_t t) const noexcept { return sections_[t]; }
  [[nodiscard]] std::uint64_t hash(std::uint32_t i) const noexcept { return hashes_[i]; }
  [[nodiscard]] std::uint32_t weight(std::uint32_t t) const noexcept { return weights_[t]; }

  /// Returns: the members of sections that inferences have read since the last call.
  [[nodiscard]] std::uint64_t take_work() noexcept { return std::exchange(work_, 0); }

  /// Returns: the units that may still be wasted in a section.
  [[nodiscard]] units slack(std::uint32_t t) const noexcept {
    const section_state& s = sections_[t];
    return capacity_ - s.load - s.low - pinned_between(t, s.low, capacity_);
  }

  /// Returns: the units of `[low, high)` that pinned items take in a section.
  [[nodiscard]] units pinned_between(std::uint32_t t, units low, units high) const noexcept {
    units sum = 0;
    for (const offset_range* p = table_.pinned.begin(t); p != table_.pinned.end(t); ++p)
      sum += std::max<units>(0, std::min(p->end, high) - std::max(p->begin, low));
    return sum;
  }

  /// Effects: makes all items unplaced with floors at zero, then infers. Keeps the weights of sections. Returns: false
  /// if the state is infeasible.
  [[nodiscard]] bool reset() {
    trail_.clear();
    for (std::uint32_t t = 0; t < table_.sections; ++t) sections_[t] = {};
    for (std::uint32_t i = 0; i < floors_.size(); ++i) {
      floors_[i] = lowest_offset(i, 0);
      hashes_[i] = hash_of(i, floors_[i]);
      offsets_[i] = -1;
      count(i, 1);
      if (floors_[i] > ceilings_[i]) return false;
    }
    for (std::uint32_t t = 0; t < table_.sections; ++t) touch(t);
    return infer();
  }

  /// Returns: a position for undo.
  [[nodiscard]] std::size_t mark() const noexcept { return trail_.size(); }
  void undo(std::size_t mark) noexcept {
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

  /// Effects: places `i` on its floor, and every unplaced item that shares a section with it above it; infers. Returns:
  /// false if the state is infeasible; the caller then undoes it.
  [[nodiscard]] bool place(std::uint32_t i) {
    const units offset = floors_[i];
    offsets_[i] = offset;
    trail_.push_back({change::placement, i, 0, 0, 0});
    count(i, -1);
    set_floor(i, beyond);
    for (const interval* s = table_.begin(i); s != table_.end(i); ++s) {
      const units above = offset + s->height;
      const auto lift = [&](const member* m, const member* end) {
        for (; m != end; ++m)
          if (floors_[m->item] < above && !raise(m->item, above)) return fail(s->first);
        return true;
      };
      if (!lift(table_.members.begin(s->first), table_.members.end(s->first))) return false;
      for (std::uint32_t t = s->first + 1; t < s->last; ++t)
        if (!lift(table_.entering.begin(t), table_.entering.end(t))) return false;
    }
    return infer();
  }

  /// Effects: raises the floors equal to `low` in section `t` to `to`; infers. Returns: as `place`.
  [[nodiscard]] bool raise_candidates(std::uint32_t t, units to) {
    const units low = sections_[t].low;
    for (const member* m = table_.members.begin(t); m != table_.members.end(t); ++m)
      if (floors_[m->item] == low && !raise(m->item, to)) return fail(t);
    return infer();
  }

  /// Returns: the least offset for `i`, not below `from`, that alignment and pinned items permit.
  [[nodiscard]] units lowest_offset(std::uint32_t i, units from) const noexcept {
    const units alignment = table_.items[i].alignment;
    const auto align = [&](units n) { return alignment == 1 ? n : (n + alignment - 1) / alignment * alignment; };
    from = align(from);
    for (const offset_range* r = table_.forbidden.begin(i); r != table_.forbidden.end(i); ++r)
      if (from >= r->begin && from < r->end) from = align(r->end);
    return from;
  }

private:
  enum class change : std::uint8_t { floor, section, placement };
  struct record {
    change what;
    std::uint32_t index;
    units first;          // floor: the old one; section: the old low
    units second;         // section: the old top
    std::uint64_t third;  // floor: the old hash; section: the old number of candidates
  };

  // The depth of inferences: once patience ends they only check whether the section can still be filled.
  enum class effort : std::uint8_t { full, sums, none };

  [[nodiscard]] static std::uint64_t mix(std::uint64_t x) noexcept {
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
  }

  [[nodiscard]] static std::uint64_t hash_of(std::uint32_t i, units floor) noexcept {
    return floor >= beyond ? 0 : mix(mix(i) + static_cast<std::uint64_t>(floor));
  }

  void count(std::uint32_t i, int sign) noexcept {
    for (const interval* s = table_.begin(i); s != table_.end(i); ++s)
      for (std::uint32_t t = s->first; t < s->last; ++t) {
        sections_[t].load += sign * s->height;
        sections_[t].live += static_cast<std::uint32_t>(sign);
        if (t + 1 < s->last) sections_[t].crossing += static_cast<std::uint32_t>(sign);
      }
  }

  void set_floor(std::uint32_t i, units to) {
    trail_.push_back({change::floor, i, floors_[i], 0, hashes_[i]});
    floors_[i] = to;
    hashes_[i] = hash_of(i, to);
    for (const interval* s = table_.begin(i); s != table_.end(i); ++s)
      for (std::uint32_t t = s->first; t < s->last; ++t) touch(t);
  }

  [[nodiscard]] bool raise(std::uint32_t i, units to) {
    to = lowest_offset(i, to);
    if (to > ceilings_[i]) return false;
    set_floor(i, to);
    return true;
  }

  void touch(std::uint32_t t) {
    if (is_touched_[t]) return;
    is_touched_[t] = true;
    touched_.push_back(t);
  }

  [[nodiscard]] bool infer() {
    // First in, first out: a section that many items touch is examined after all have moved. If sizes are tiny against
    // the capacity, floors can raise each other byte by byte; patience limits such chains.
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

  [[nodiscard]] bool infer(std::uint32_t t, effort e) {
    sort_by_floor(t);
    if (summarize(t) > capacity_) return false;
    if (sections_[t].live == 0) return true;
    const units waste = slack(t);
    if (waste < 0) return false;
    if (!table_.pinned.empty(t)) return true;
    const member& highest = table_.members.begin(t)[sections_[t].live - 1];
    if (floors_[highest.item] <= sections_[t].low + waste) return true;  // waste alone can support each of them
    if (waste <= widest_slack && capacity_ < subset_sums::limit) return e == effort::none || raise_by_sums(t);
    return e != effort::full || raise_by_slack(t, waste);
  }

  /// Sorts the members of a section by floor, placed ones last. They are mostly sorted already.
  void sort_by_floor(std::uint32_t t) noexcept {
    member* const first = table_.members.begin(t);
    member* const last = table_.members.end(t);
    for (member* m = first; m != last; ++m) {
      const member moving = *m;
      const units floor = floors_[moving.item];
      member* to = m;
      for (; to != first && floors_[(to - 1)->item] > floor; --to) *to = *(to - 1);
      *to = moving;
      work_ += static_cast<std::uint64_t>(m - to);
    }
  }

  /// Effects: renews low, top and candidates of the section. Returns: the least end of its stack.
  [[nodiscard]] units summarize(std::uint32_t t) {
    section_state now = sections_[t];
    const member* m = table_.members.begin(t);
    units end = 0;
    now.low = now.live == 0 ? beyond : floors_[m->item];
    now.top = beyond;
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

  /// An item rests on items with lower floors, whose sums are known by then, or on one with a higher floor. In the
  /// second case the top of that one bounds it, and then some sum of all items.
  [[nodiscard]] bool raise_by_sums(std::uint32_t t) {
    const member* const m = table_.members.begin(t);
    const std::uint32_t live = sections_[t].live;
    const units low = sections_[t].low;
    subset_sums sums(capacity_, low, slack(t));
    lifted_.resize(live);
    for (std::uint32_t k = 0; k < live; ++k) {
      lifted_[k] = sums.next(floors_[m[k].item]);
      sums.stack(floors_[m[k].item], m[k].height);
    }
    units top = beyond;  // the lowest top of an item with a higher floor
    for (std::uint32_t k = live; k-- > 0;) {
      const units floor = floors_[m[k].item];
      if (lifted_[k] != floor && top < beyond) lifted_[k] = std::min(lifted_[k], sums.next(std::max(top, floor)));
      top = std::min(top, floor + m[k].height);
    }
    for (std::uint32_t k = 0; k < live; ++k)
      if (lifted_[k] > floors_[m[k].item] && !raise(m[k].item, lifted_[k])) return false;
    return true;
  }

  [[nodiscard]] bool raise_by_slack(std::uint32_t t, units slack) {
    const member* const m = table_.members.begin(t);
    const std::uint32_t live = sections_[t].live;
    const units reach = sections_[t].low + slack;
    units least = beyond, second = beyond;
    for (std::uint32_t k = 0; k < live; ++k) {
      const units top = floors_[m[k].item] + m[k].height;
      second = std::min(second, std::max(least, top));
      least = std::min(least, top);
    }
    if (reach >= second) return true;
    for (std::uint32_t k = live; k != 0; --k) {
      const member& x = m[k - 1];
      const units floor = floors_[x.item];
      if (floor <= reach) break;
      const units support = floor + x.height == least ? second : least;
      if (floor < support && !raise(x.item, support)) return false;
    }
    return true;
  }

  /// Clears the queue of sections, and counts the failure of this one.
  [[nodiscard]] bool fail(std::uint32_t t) noexcept {
    ++weights_[t];
    for (const std::uint32_t u : touched_) is_touched_[u] = false;
    touched_.clear();
    return false;
  }

  // With a wider slack almost every offset is attainable, and the sums are not worth their time.
  static constexpr units widest_slack = 32;

  section_table table_;
  units capacity_;
  std::vector<units> ceilings_;  // the highest offset of each item
  std::vector<units> floors_;
  std::vector<units> offsets_;
  std::vector<std::uint64_t> hashes_;
  std::vector<section_state> sections_;
  std::vector<std::uint32_t> weights_;  // failures of each section
  std::vector<record> trail_;
  std::vector<std::uint32_t> touched_;
  std::vector<bool> is_touched_;
  std::vector<units> lifted_;  // scratch memory of raise_by_sums
  std::uint64_t work_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail::planner
