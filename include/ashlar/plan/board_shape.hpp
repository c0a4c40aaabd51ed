// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of a search board that never change: items, who lives in which section, and what is pinned where.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/model.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan::valley {

/// Offsets and sizes in units; signed, so that differences need no care.
using units = std::int64_t;

/// Above every offset, yet two of it still add up.
inline constexpr units far = units{1} << 61;

/// A half-open range of offsets.
struct offset_range {
  units begin = 0;
  units end = 0;
};

/// A piece of an item over the sections `[first, last)`; `height` counts from the offset of the item.
struct strip {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  units height = 0;
};

/// Something that lives in a section, and how high it reaches there.
struct member {
  std::uint32_t item = 0;
  units height = 0;
};

/// One unpinned item. Its strips are `board_shape::strips[first .. last)`.
struct figure {
  units height = 0;  ///< The greatest height of its strips.
  units alignment = 1;
  std::uint64_t bytes = 0;  ///< Its size: the layout must be high enough for it, though its strips may be lower.
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t origin = 0;  ///< Its item in the model.
  std::uint32_t twin = 0;    ///< Equal figures have equal numbers.
};

/// Lists of equal meaning, one per key, in one array.
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

/// What a search needs to know of a model. Figures are sorted by their first section.
struct board_shape {
  units unit = 1;  ///< Bytes per unit: offsets of settled layouts are multiples of it.
  std::uint32_t sections = 0;
  bool contiguous = true;  ///< Every figure is one strip, so that cutting time cuts the problem.
  std::vector<figure> figures;
  std::vector<strip> strips;
  std::vector<std::uint32_t> starting_at;  ///< The first figure that starts at or after a section.
  buckets<member> members;                 ///< Per section: who lives there.
  buckets<member> entering;                ///< Per section: whose strip begins there.
  buckets<offset_range> pinned;            ///< Per section: what is pinned, disjoint, ascending.
  buckets<offset_range> forbidden;         ///< Per figure: offsets at which it would hit something pinned.

  [[nodiscard]] const strip* begin(std::size_t f) const noexcept { return strips.data() + figures[f].first; }
  [[nodiscard]] const strip* end(std::size_t f) const noexcept { return strips.data() + figures[f].last; }
};

namespace detail {

/// The unit: whatever divides all sizes, windows, pins and alignments, or the alignment all items share if that is
/// more.
[[nodiscard]] inline units unit_of(const model& m) {
  std::uint64_t divisor = 0;
  std::uint64_t most = 1;
  std::uint64_t least = ~std::uint64_t{0};
  for (const piece& p : m.pieces) divisor = std::gcd(divisor, p.high);
  for (const item& i : m.items) {
    if (i.pin != unpinned) divisor = std::gcd(divisor, i.pin);
    divisor = std::gcd(divisor, i.size);
    most = std::max(most, i.alignment);
    least = std::min(least, i.alignment);
  }
  if (divisor == 0) return 1;
  if (divisor % most == 0) return static_cast<units>(divisor);
  return static_cast<units>(std::max(std::gcd(divisor, most), least));
}

/// Makes the board of a model whose pieces all start at the offset of their item.
class board_maker {
public:
  explicit board_maker(const model& m) : m_(m) {}

  [[nodiscard]] board_shape make() {
    out_.unit = unit_of(m_);
    out_.sections = m_.sections;
    add_figures();
    number_twins();
    index_sections();
    index_pins();
    return std::move(out_);
  }

private:
  [[nodiscard]] units scaled(std::uint64_t bytes) const noexcept {
    const auto unit = static_cast<std::uint64_t>(out_.unit);
    return static_cast<units>(bytes / unit + (bytes % unit != 0));
  }

  void add_figures() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < m_.items.size(); ++i)
      if (m_.items[i].pin == unpinned && m_.items[i].first != m_.items[i].last) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return rank(a) < rank(b); });
    for (const std::uint32_t i : order) add_figure(i);
  }

  [[nodiscard]] std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t, std::uint32_t>
  rank(std::uint32_t i) const {
    const piece& p = *m_.begin(i);
    return {p.first, p.last, ~m_.items[i].size, m_.items[i].alignment, i};
  }

  void add_figure(std::uint32_t i) {
    figure f;
    f.origin = i;
    f.alignment = std::max<units>(1, static_cast<units>(m_.items[i].alignment) / out_.unit);
    f.first = static_cast<std::uint32_t>(out_.strips.size());
    std::uint64_t highest = 0;
    for (const piece* p = m_.begin(i); p != m_.end(i); ++p) {
      out_.strips.push_back({p->first, p->last, scaled(p->high)});
      highest = std::max(highest, p->high);
    }
    f.last = static_cast<std::uint32_t>(out_.strips.size());
    f.height = scaled(highest);
    f.bytes = m_.items[i].size;
    out_.contiguous = out_.contiguous && f.last == f.first + 1;
    out_.figures.push_back(f);
  }

  void number_twins() {
    for (std::uint32_t f = 1; f < out_.figures.size(); ++f)
      out_.figures[f].twin = equal(f - 1, f) ? out_.figures[f - 1].twin : f;
  }

  [[nodiscard]] bool equal(std::uint32_t a, std::uint32_t b) const {
    const auto same = [](const strip& x, const strip& y) {
      return x.first == y.first && x.last == y.last && x.height == y.height;
    };
    return out_.figures[a].alignment == out_.figures[b].alignment && out_.figures[a].bytes == out_.figures[b].bytes &&
           std::equal(out_.begin(a), out_.end(a), out_.begin(b), out_.end(b), same);
  }

  void index_sections() {
    std::vector<std::pair<std::uint32_t, member>> live;
    std::vector<std::pair<std::uint32_t, member>> entering;
    for (std::uint32_t f = 0; f < out_.figures.size(); ++f)
      for (const strip* s = out_.begin(f); s != out_.end(f); ++s) {
        entering.push_back({s->first, {f, s->height}});
        for (std::uint32_t t = s->first; t < s->last; ++t) live.push_back({t, {f, s->height}});
      }
    out_.members.build(out_.sections, live);
    out_.entering.build(out_.sections, entering);
    out_.starting_at.assign(out_.sections + std::size_t{1}, static_cast<std::uint32_t>(out_.figures.size()));
    for (auto f = static_cast<std::uint32_t>(out_.figures.size()); f-- > 0;) out_.starting_at[out_.begin(f)->first] = f;
    for (std::uint32_t t = out_.sections; t-- > 0;)
      out_.starting_at[t] = std::min(out_.starting_at[t], out_.starting_at[t + 1]);
  }

  void index_pins() {
    std::vector<std::pair<std::uint32_t, offset_range>> pinned;
    for (std::uint32_t i = 0; i < m_.items.size(); ++i)
      if (m_.items[i].pin != unpinned)
        for (const piece* p = m_.begin(i); p != m_.end(i); ++p)
          for (std::uint32_t t = p->first; t < p->last; ++t)
            pinned.push_back({t, {scaled(m_.items[i].pin), scaled(m_.items[i].pin + p->high)}});
    std::sort(pinned.begin(), pinned.end(),
              [](const auto& a, const auto& b) { return a.second.begin < b.second.begin; });
    out_.pinned.build(out_.sections, pinned);
    std::vector<std::pair<std::uint32_t, offset_range>> forbidden;
    for (std::uint32_t f = 0; f < out_.figures.size(); ++f) add_forbidden(f, forbidden);
    out_.forbidden.build(out_.figures.size(), forbidden);
  }

  void add_forbidden(std::uint32_t f, std::vector<std::pair<std::uint32_t, offset_range>>& out) const {
    std::vector<offset_range> ranges;
    for (const strip* s = out_.begin(f); s != out_.end(f); ++s)
      for (std::uint32_t t = s->first; t < s->last; ++t)
        for (const offset_range* p = out_.pinned.begin(t); p != out_.pinned.end(t); ++p)
          ranges.push_back({p->begin - s->height + 1, p->end});
    std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    for (const offset_range& r : ranges)
      if (!out.empty() && out.back().first == f && r.begin <= out.back().second.end)
        out.back().second.end = std::max(out.back().second.end, r.end);
      else out.push_back({f, r});
  }

  const model& m_;
  board_shape out_;
};

}  // namespace detail

/// Returns: the board of `m`. Expects: every piece has `low == 0` and pinned items do not collide.
/// Complexity: memory and time of the order of the sum of the sections that items live in.
[[nodiscard]] inline board_shape make_board_shape(const model& m) { return detail::board_maker(m).make(); }

}  // namespace plan::valley
}  // namespace ASHLAR_ABI
}  // namespace ashlar
