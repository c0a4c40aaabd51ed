// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sections of a part in the form of the exact search: items and intervals in units, the members of each section.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/planner/instance.hpp>
#include <ashlar/detail/planner/search_limits.hpp>

namespace ashlar::ASHLAR_ABI::detail::planner {

/// A half-open range of offsets.
struct offset_range {
  units begin = 0;
  units end = 0;
};

/// One list for each key, all in one array.
template <class T>
class buckets {
public:
  /// Effects: replaces the content; entries of one key keep their order.
  void build(std::size_t keys, const std::vector<std::pair<std::uint32_t, T>>& entries) {
    starts_.assign(keys + 1, 0);
    for (const auto& e : entries) ++starts_[e.first + std::size_t{1}];
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    std::vector<std::uint32_t> next(starts_.begin(), starts_.end() - 1);
    values_.resize(entries.size());
    for (const auto& e : entries) values_[next[e.first]++] = e.second;
  }
  [[nodiscard]] T* begin(std::size_t key) noexcept { return values_.data() + starts_[key]; }
  [[nodiscard]] T* end(std::size_t key) noexcept { return values_.data() + starts_[key + 1]; }
  [[nodiscard]] const T* begin(std::size_t key) const noexcept { return values_.data() + starts_[key]; }
  [[nodiscard]] const T* end(std::size_t key) const noexcept { return values_.data() + starts_[key + 1]; }
  [[nodiscard]] bool empty(std::size_t key) const noexcept { return starts_[key] == starts_[key + 1]; }

private:
  std::vector<std::uint32_t> starts_{0};
  std::vector<T> values_;
};

/// The section search's view of a part: unpinned items and their intervals in units, the members of each section, and
/// the ranges of pinned items. Items are sorted by their first section; sections are numbered from the first of the
/// part.
struct section_table {
  /// Over the sections `[first, last)`; `height` counts from the offset of the item.
  struct interval {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    units height = 0;
  };

  /// One unpinned item: `section_table::intervals[first .. last)`.
  struct item {
    units height = 0;  ///< The greatest height of its intervals.
    units alignment = 1;
    std::uint64_t bytes = 0;  ///< Its size: a lower limit of the height, even if its intervals are lower.
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::uint32_t origin = 0;  ///< Its position in the part.
    std::uint32_t twin = 0;    ///< Equal items have equal numbers.
  };

  /// An item that lives in a section, and its height there.
  struct member {
    std::uint32_t item = 0;
    units height = 0;
  };

  units unit = 1;  ///< Bytes per unit: offsets of compact layouts are multiples of it.
  std::uint32_t sections = 0;
  bool contiguous = true;  ///< Every item is one interval, so that a cut in time cuts the problem.
  std::vector<item> items;
  std::vector<interval> intervals;
  std::vector<std::uint32_t> starting_at;  ///< The first item that starts at or after a section.
  buckets<member> members;                 ///< Per section: its items.
  buckets<member> entering;                ///< Per section: the items with an interval that begins there.
  buckets<offset_range> pinned;            ///< Per section: the ranges of pinned items, disjoint, ascending.
  buckets<offset_range> forbidden;         ///< Per item: offsets at which it would overlap a pinned item.

  [[nodiscard]] const interval* begin(std::size_t i) const noexcept { return intervals.data() + items[i].first; }
  [[nodiscard]] const interval* end(std::size_t i) const noexcept { return intervals.data() + items[i].last; }
};

/// Builds the table of a part. All its intervals start at the offset of their item.
class table_builder {
public:
  explicit table_builder(const part& p) : part_(p) {
    for (std::uint32_t k = 0; k < p.size(); ++k) {
      starts_.push_back(lives_.size());
      for (const interval* x = p.begin(k); x != p.end(k); ++x) {
        const std::uint32_t first = std::max(x->first, p.first), last = std::min(x->last, p.last);
        if (first < last) lives_.push_back({first - p.first, last - p.first, x->high});
      }
    }
    starts_.push_back(lives_.size());
  }

  [[nodiscard]] section_table build() {
    out_.unit = unit();
    out_.sections = part_.sections();
    add_items();
    number_twins();
    index_sections();
    index_pins();
    return std::move(out_);
  }

private:
  /// The rest of an interval inside a window of time.
  struct life {
    std::uint32_t first, last;
    std::uint64_t high;
  };

  [[nodiscard]] const life* begin(std::uint32_t k) const noexcept { return lives_.data() + starts_[k]; }
  [[nodiscard]] const life* end(std::uint32_t k) const noexcept { return lives_.data() + starts_[k + std::size_t{1}]; }

  /// Returns: the common divisor of all sizes, windows, pins and alignments, or the common alignment if that is more.
  [[nodiscard]] units unit() const {
    std::uint64_t divisor = 0;
    std::uint64_t most = 1;
    std::uint64_t least = ~std::uint64_t{0};
    for (const life& x : lives_) divisor = std::gcd(divisor, x.high);
    for (std::uint32_t k = 0; k < part_.size(); ++k) {
      if (part_.pinned(k)) divisor = std::gcd(divisor, part_.pin(k));
      divisor = std::gcd(divisor, part_[k].size);
      most = std::max(most, part_[k].alignment);
      least = std::min(least, part_[k].alignment);
    }
    if (divisor == 0) return 1;
    if (divisor % most == 0) return static_cast<units>(divisor);
    return static_cast<units>(std::max(std::gcd(divisor, most), least));
  }

  [[nodiscard]] units scaled(std::uint64_t bytes) const noexcept {
    const auto unit = static_cast<std::uint64_t>(out_.unit);
    return static_cast<units>(bytes / unit + (bytes % unit != 0));
  }

  void add_items() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t k = 0; k < part_.size(); ++k)
      if (!part_.pinned(k) && begin(k) != end(k)) order.push_back(k);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return rank(a) < rank(b); });
    for (const std::uint32_t k : order) add_item(k);
  }

  [[nodiscard]] std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t, std::uint32_t>
  rank(std::uint32_t k) const {
    return {begin(k)->first, begin(k)->last, ~part_[k].size, part_[k].alignment, k};
  }

  void add_item(std::uint32_t k) {
    section_table::item x;
    x.origin = k;
    x.alignment = std::max<units>(1, static_cast<units>(part_[k].alignment) / out_.unit);
    x.first = static_cast<std::uint32_t>(out_.intervals.size());
    std::uint64_t highest = 0;
    for (const life* l = begin(k); l != end(k); ++l) {
      out_.intervals.push_back({l->first, l->last, scaled(l->high)});
      highest = std::max(highest, l->high);
    }
    x.last = static_cast<std::uint32_t>(out_.intervals.size());
    x.height = scaled(highest);
    x.bytes = part_[k].size;
    out_.contiguous = out_.contiguous && x.last == x.first + 1;
    out_.items.push_back(x);
  }

  void number_twins() {
    for (std::uint32_t i = 1; i < out_.items.size(); ++i)
      out_.items[i].twin = equal(i - 1, i) ? out_.items[i - 1].twin : i;
  }

  [[nodiscard]] bool equal(std::uint32_t a, std::uint32_t b) const {
    const auto same = [](const section_table::interval& x, const section_table::interval& y) {
      return x.first == y.first && x.last == y.last && x.height == y.height;
    };
    return out_.items[a].alignment == out_.items[b].alignment && out_.items[a].bytes == out_.items[b].bytes &&
           std::equal(out_.begin(a), out_.end(a), out_.begin(b), out_.end(b), same);
  }

  void index_sections() {
    const auto count = static_cast<std::uint32_t>(out_.items.size());
    std::vector<std::pair<std::uint32_t, section_table::member>> live;
    std::vector<std::pair<std::uint32_t, section_table::member>> entering;
    for (std::uint32_t i = 0; i < count; ++i)
      for (const section_table::interval* x = out_.begin(i); x != out_.end(i); ++x) {
        entering.push_back({x->first, {i, x->height}});
        for (std::uint32_t t = x->first; t < x->last; ++t) live.push_back({t, {i, x->height}});
      }
    out_.members.build(out_.sections, live);
    out_.entering.build(out_.sections, entering);
    out_.starting_at.assign(out_.sections + std::size_t{1}, count);
    for (std::uint32_t i = count; i-- > 0;) out_.starting_at[out_.begin(i)->first] = i;
    for (std::uint32_t t = out_.sections; t-- > 0;)
      out_.starting_at[t] = std::min(out_.starting_at[t], out_.starting_at[t + 1]);
  }

  using range_of = std::pair<std::uint32_t, offset_range>;

  void index_pins() {
    std::vector<range_of> pinned;
    for (std::uint32_t k = 0; k < part_.size(); ++k)
      if (part_.pinned(k))
        for (const life* l = begin(k); l != end(k); ++l)
          for (std::uint32_t t = l->first; t < l->last; ++t)
            pinned.push_back({t, {scaled(part_.pin(k)), scaled(part_.pin(k) + l->high)}});
    std::sort(pinned.begin(), pinned.end(),
              [](const range_of& a, const range_of& b) { return a.second.begin < b.second.begin; });
    out_.pinned.build(out_.sections, pinned);
    std::vector<range_of> forbidden;
    for (std::uint32_t i = 0; i < out_.items.size(); ++i) add_forbidden(i, forbidden);
    out_.forbidden.build(out_.items.size(), forbidden);
  }

  void add_forbidden(std::uint32_t i, std::vector<range_of>& out) const {
    std::vector<offset_range> ranges;
    for (const section_table::interval* x = out_.begin(i); x != out_.end(i); ++x)
      for (std::uint32_t t = x->first; t < x->last; ++t)
        for (const offset_range* r = out_.pinned.begin(t); r != out_.pinned.end(t); ++r)
          ranges.push_back({r->begin - x->height + 1, r->end});
    std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    for (const offset_range& r : ranges)
      if (!out.empty() && out.back().first == i && r.begin <= out.back().second.end)
        out.back().second.end = std::max(out.back().second.end, r.end);
      else out.push_back({i, r});
  }

  const part& part_;
  std::vector<life> lives_;
  std::vector<std::size_t> starts_;  // in lives_, of each item
  section_table out_;
};

/// Returns: the table of `p`. Expects: `starts_at_offset(p)`, and pinned items do not collide. Complexity: memory and
/// time in proportion to the sum of the items' sections.
[[nodiscard]] inline section_table make_table(const part& p) { return table_builder(p).build(); }

/// The order of candidates and of leading items. Rankings are compared word by word, greatest first.
enum class ranking { life, breadth, breadth_life, height };

/// Returns: the rank of each item; the greatest comes first. Complexity: O(n log n + the lives).
[[nodiscard]] inline std::vector<std::uint32_t> ranks_by(const section_table& table, ranking r) {
  std::vector<units> load(table.sections, 0);
  for (std::uint32_t t = 0; t < table.sections; ++t)
    for (const section_table::member* m = table.members.begin(t); m != table.members.end(t); ++m) load[t] += m->height;
  struct measures {
    units life = 0, area = 0, breadth = 0, height = 0;
  };
  std::vector<measures> of(table.items.size());
  for (std::uint32_t f = 0; f < of.size(); ++f) {
    of[f].height = table.items[f].height;
    for (const section_table::interval* s = table.begin(f); s != table.end(f); ++s)
      for (std::uint32_t t = s->first; t < s->last; ++t) {
        ++of[f].life;
        of[f].breadth = std::max(of[f].breadth, load[t]);
      }
    // Heights of 2^61 times long lives would overflow; the exact order of such areas does not matter.
    of[f].area = of[f].height > beyond / (of[f].life + 1) ? beyond : of[f].height * of[f].life;
  }
  const auto less = [&](std::uint32_t a, std::uint32_t b) {
    const measures& x = of[a];
    const measures& y = of[b];
    switch (r) {
      case ranking::life: return std::tie(x.life, x.area, x.breadth, a) < std::tie(y.life, y.area, y.breadth, b);
      case ranking::breadth: return std::tie(x.breadth, x.area, x.life, a) < std::tie(y.breadth, y.area, y.life, b);
      case ranking::breadth_life:
        return std::tie(x.breadth, x.life, x.area, a) < std::tie(y.breadth, y.life, y.area, b);
      case ranking::height: return std::tie(x.height, x.area, x.breadth, a) < std::tie(y.height, y.area, y.breadth, b);
    }
    return a < b;
  };
  std::vector<std::uint32_t> order(of.size()), rank(of.size());
  for (std::uint32_t f = 0; f < order.size(); ++f) order[f] = f;
  std::sort(order.begin(), order.end(), less);
  for (std::uint32_t k = 0; k < order.size(); ++k) rank[order[k]] = k;
  return rank;
}

}  // namespace ashlar::ASHLAR_ABI::detail::planner
