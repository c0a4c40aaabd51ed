// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Orders in which greedy placement takes the items. None wins everywhere, so the planner tries several.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/load.hpp>
#include <ashlar/plan/model.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

/// What comes first. A second word breaks ties.
enum class order {
  size,       ///< The largest; the longest of equals.
  area,       ///< The largest product of size and life.
  life,       ///< The longest-lived.
  life_size,  ///< The longest-lived, the largest of equals.
  size_life,  ///< The largest, the longest-lived of equals.
  breadth,    ///< What lives through the fullest section.
  birth,      ///< The earliest.
  time_area   ///< The largest product of size and life, counted in moments and not in sections.
};

/// What the planner tries, the most fruitful first; `time_area` is for placing from below.
inline constexpr order all_orders[] = {order::size_life, order::breadth, order::life_size, order::area,
                                       order::size,      order::life,    order::birth};

[[nodiscard]] constexpr std::string_view name_of(order o) noexcept {
  switch (o) {
    case order::size: return "size";
    case order::area: return "area";
    case order::life: return "life";
    case order::life_size: return "life,size";
    case order::size_life: return "size,life";
    case order::breadth: return "breadth";
    case order::birth: return "birth";
    case order::time_area: return "area in time";
  }
  return "order";
}

namespace detail {

/// Sections in which the item lives.
[[nodiscard]] inline std::uint64_t life_of(const model& m, std::uint32_t i) noexcept {
  std::uint64_t life = 0;
  for (const piece* p = m.begin(i); p != m.end(i); ++p) life += p->last - p->first;
  return life;
}

/// The greatest load of a section over the life of each item, by a table of maxima over powers of two.
[[nodiscard]] inline std::vector<std::uint64_t> breadths(const model& m) {
  std::vector<std::vector<std::uint64_t>> most{section_loads(m)};
  for (std::size_t width = 1; width * 2 <= m.sections; width *= 2) {
    const std::vector<std::uint64_t>& last = most.back();
    std::vector<std::uint64_t> next(last.size() - width);
    for (std::size_t s = 0; s < next.size(); ++s) next[s] = std::max(last[s], last[s + width]);
    most.push_back(std::move(next));
  }
  std::vector<std::uint64_t> result(m.items.size(), 0);
  for (std::uint32_t i = 0; i < m.items.size(); ++i)
    for (const piece* p = m.begin(i); p != m.end(i); ++p) {
      const auto level = static_cast<std::size_t>(std::bit_width(p->last - p->first)) - 1;
      result[i] = std::max({result[i], most[level][p->first], most[level][p->last - (std::size_t{1} << level)]});
    }
  return result;
}

/// From the moment of the first section to that of the last, piece by piece.
[[nodiscard]] inline double time_of(const model& m, std::uint32_t i) noexcept {
  double time = 0;
  for (const piece* p = m.begin(i); p != m.end(i); ++p)
    time += static_cast<double>(m.moments[p->last - 1] - m.moments[p->first]) + 1;
  return time;
}

using sort_key = std::pair<double, double>;

[[nodiscard]] inline sort_key key_of(const model& m, std::uint32_t i, order o) noexcept {
  const auto size = static_cast<double>(m.items[i].size);
  const auto life = static_cast<double>(life_of(m, i));
  switch (o) {
    case order::size: return {size, 0};
    case order::area: return {size * life, size};
    case order::life: return {life, 0};
    case order::life_size: return {life, size};
    case order::size_life: return {size, life};
    case order::birth: return {m.items[i].first == m.items[i].last ? 0 : -static_cast<double>(m.begin(i)->first), size};
    case order::time_area: return {size * time_of(m, i), size};
    case order::breadth: break;
  }
  return {0, size};
}

}  // namespace detail

/// Returns: the items in the given order; equals keep their order. Complexity: O(n log n).
[[nodiscard]] inline std::vector<std::uint32_t> sorted_by(const model& m, order o) {
  std::vector<detail::sort_key> keys(m.items.size());
  for (std::uint32_t i = 0; i < keys.size(); ++i) keys[i] = detail::key_of(m, i, o);
  if (o == order::breadth) {
    const std::vector<std::uint64_t> breadth = detail::breadths(m);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i].first = static_cast<double>(breadth[i]);
  }
  std::vector<std::uint32_t> sorted(keys.size());
  for (std::uint32_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
  std::sort(sorted.begin(), sorted.end(),
            [&](std::uint32_t a, std::uint32_t b) { return keys[a] != keys[b] ? keys[a] > keys[b] : a < b; });
  return sorted;
}

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
