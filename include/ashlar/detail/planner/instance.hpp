// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An instance of dynamic storage allocation: items over numbered sections, built once; its parts are index views.
//
//   time      0   1   2   3   4   5          A section is a maximal set of items that live together (MiniMalloc):
//   a         |-----------|                  births without a death in between fall into one section.
//   b             |---------------|          sections   0: {a, b}   1: {b, c, d}
//   c                         |---|          a = [0,1)  b = [0,2)  c = [1,2)  d = [1,2)
//   d                     |-------|          Two items overlap in time exactly when they share a section.
//
//   A pair that must be kept apart has a section of its own, in which both items are whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail::planner {

inline constexpr std::uint64_t unpinned = ~std::uint64_t{0};

/// In the sections `[first, last)` the item occupies the bytes `[low, high)`, counted from its offset.
struct interval {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint64_t begin = 0;  ///< The moments `[begin, end)`; empty in the section of a pair.
  std::uint64_t end = 0;
};

/// A buffer without its gaps, or a group of aliases: `instance::intervals[first .. last)`. No two intervals of an item
/// overlap in both time and bytes.
struct item {
  std::uint64_t size = 0;
  std::uint64_t alignment = 1;
  std::uint64_t pin = unpinned;
  std::uint64_t pools = ~std::uint64_t{0};
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// All items and sections of one address space. The sections of a connected part are neighbours.
struct instance {
  using pair = std::pair<std::uint32_t, std::uint32_t>;

  std::vector<item> items;
  std::vector<interval> intervals;
  std::vector<pair> apart;  ///< Pairs of items that share no byte.
  std::uint32_t sections = 0;
  std::vector<std::uint64_t> moments;    ///< A moment of each section; for a pair the birth of its first item.
  std::vector<std::uint32_t> in_time;    ///< The rank of each section in the order of time; pairs come last.
  std::vector<std::uint32_t> of_buffer;  ///< The item of each buffer; empty for chosen items.
  std::vector<std::uint32_t> part_ends;  ///< The end of each connected part: its last section + 1, ascending.

  [[nodiscard]] const interval* begin(std::size_t i) const noexcept { return intervals.data() + items[i].first; }
  [[nodiscard]] const interval* end(std::size_t i) const noexcept { return intervals.data() + items[i].last; }
};

/// An index view: some items over a range of sections. It is a connected part of an instance, a window of time, or the
/// whole. Its items are numbered by their positions in `items`.
struct part {
  const instance* all = nullptr;
  std::vector<std::uint32_t> items;
  std::uint32_t first = 0;  ///< The sections `[first, last)`; in a window items may reach beyond.
  std::uint32_t last = 0;
  std::vector<std::uint64_t> pins;  ///< Of each item of a window; empty: the pins of the instance.

  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(items.size()); }
  [[nodiscard]] std::uint32_t sections() const noexcept { return last - first; }
  [[nodiscard]] const item& operator[](std::size_t k) const noexcept { return all->items[items[k]]; }
  [[nodiscard]] const interval* begin(std::size_t k) const noexcept { return all->begin(items[k]); }
  [[nodiscard]] const interval* end(std::size_t k) const noexcept { return all->end(items[k]); }
  [[nodiscard]] std::uint64_t pin(std::size_t k) const noexcept { return pins.empty() ? (*this)[k].pin : pins[k]; }
  [[nodiscard]] bool pinned(std::size_t k) const noexcept { return pin(k) != unpinned; }
};

/// Returns: the part with all items and sections.
[[nodiscard]] inline part whole_of(const instance& all) {
  part p{&all, std::vector<std::uint32_t>(all.items.size()), 0, all.sections, {}};
  std::iota(p.items.begin(), p.items.end(), std::uint32_t{0});
  return p;
}

/// Returns: the parts that share no section, in the order of time. Items without an interval are in none. Complexity:
/// O(items + sections).
[[nodiscard]] inline std::vector<part> parts_of(const instance& all) {
  std::vector<part> parts;
  std::vector<std::uint32_t> part_of(all.sections);
  for (const std::uint32_t end : all.part_ends) {
    const std::uint32_t first = parts.empty() ? 0 : parts.back().last;
    for (std::uint32_t s = first; s < end; ++s) part_of[s] = static_cast<std::uint32_t>(parts.size());
    parts.push_back({&all, {}, first, end, {}});
  }
  for (std::uint32_t i = 0; i < all.items.size(); ++i)
    if (all.begin(i) != all.end(i)) parts[part_of[all.begin(i)->first]].items.push_back(i);
  return parts;
}

/// Returns: whether every interval starts at the offset of its item.
[[nodiscard]] inline bool starts_at_offset(const part& p) noexcept {
  for (std::uint32_t k = 0; k < p.size(); ++k)
    if (!std::all_of(p.begin(k), p.end(k), [](const interval& x) { return x.low == 0; })) return false;
  return true;
}

/// Returns: the greatest end of a pinned item; 0 without pins.
[[nodiscard]] inline std::uint64_t pinned_height(const part& p) noexcept {
  std::uint64_t height = 0;
  for (std::uint32_t k = 0; k < p.size(); ++k)
    if (p.pinned(k)) height = std::max(height, p.pin(k) + p[k].size);
  return height;
}

[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t power_of_two) noexcept {
  return (n + power_of_two - 1) & ~(power_of_two - 1);
}

/// Returns: the load of each section of the part, in bytes; each interval ends at a multiple of `unit`. Complexity:
/// O(intervals + sections).
[[nodiscard]] inline std::vector<std::uint64_t> section_loads(const part& p, std::uint64_t unit = 1) {
  std::vector<std::uint64_t> load(p.sections() + std::size_t{1}, 0);
  for (std::uint32_t k = 0; k < p.size(); ++k)
    for (const interval* x = p.begin(k); x != p.end(k); ++x) {
      load[x->first - p.first] += round_up(x->high, unit) - x->low;
      load[x->last - p.first] -= round_up(x->high, unit) - x->low;  // wraps; the running sum below does not
    }
  for (std::uint32_t s = 1; s < p.sections(); ++s) load[s] += load[s - 1];
  load.resize(p.sections());
  return load;
}

/// A height that no layout can beat, and the section of the instance that forces it.
struct load_bound {
  std::uint64_t height = 0;
  std::uint32_t section = 0;
};

/// Returns: the greatest load; the earliest of equals.
[[nodiscard]] inline load_bound greatest_load(const part& p, const std::vector<std::uint64_t>& load) noexcept {
  load_bound best{0, p.first};
  const auto earlier = [&](std::uint32_t s) { return p.all->in_time[s] < p.all->in_time[best.section]; };
  for (std::uint32_t s = 0; s < p.sections(); ++s)
    if (load[s] > best.height || (load[s] == best.height && earlier(p.first + s))) best = {load[s], p.first + s};
  return best;
}

/// Returns: the load bound for offsets that are multiples of `unit`: each item but the highest is padded. Expects:
/// `starts_at_offset(p)`; other intervals may use the padding of their neighbours.
[[nodiscard]] inline load_bound padded_load(const part& p, std::uint64_t unit) {
  std::uint64_t most = 0;
  for (std::uint32_t k = 0; k < p.size(); ++k)
    for (const interval* x = p.begin(k); x != p.end(k); ++x) most = std::max(most, round_up(x->high, unit) - x->high);
  load_bound best = greatest_load(p, section_loads(p, unit));
  best.height -= std::min(best.height, most);
  return best;
}

/// Returns: the load bound, with padding if all alignments share a power of two. It is no less than the size of any
/// item, though windows may hide part of it in every section.
[[nodiscard]] inline load_bound load_bound_of(const part& p) {
  load_bound best = greatest_load(p, section_loads(p));
  std::uint64_t unit = p.items.empty() ? 1 : ~std::uint64_t{0};
  for (std::uint32_t k = 0; k < p.size(); ++k) {
    if (p[k].size > best.height) best = {p[k].size, p.begin(k) == p.end(k) ? p.first : p.begin(k)->first};
    unit = std::min(unit, p[k].alignment);
  }
  if (unit == 1 || !starts_at_offset(p)) return best;
  const load_bound padded = padded_load(p, unit);
  return padded.height > best.height ? padded : best;
}

}  // namespace ashlar::ASHLAR_ABI::detail::planner
