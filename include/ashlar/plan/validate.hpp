// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks a layout against the rules of its problem, without any code of the planner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/layout.hpp>
#include <ashlar/base/problem.hpp>

namespace ashlar::ASHLAR_ABI {
namespace plan {

/// The rule that a layout breaks.
enum class breach {
  missing_offset,  ///< The number of offsets differs from the number of buffers.
  misaligned,
  above_height,  ///< A buffer ends above the layout's height, or above 2^64.
  overlap,       ///< Two buffers share a byte at a moment at which both need it.
  pin_moved,
  alias_split,  ///< Two buffers that must share an offset do not.
  not_apart,    ///< Two buffers that must share no byte do.
  wrong_pool,
  above_pool
};

[[nodiscard]] constexpr std::string_view describe(breach b) noexcept {
  switch (b) {
    case breach::missing_offset: return "the number of offsets differs from the number of buffers";
    case breach::misaligned: return "the offset does not have the alignment of the buffer";
    case breach::above_height: return "the buffer ends above the height of the layout";
    case breach::overlap: return "two buffers share bytes while both are live";
    case breach::pin_moved: return "the buffer is not at its pinned offset";
    case breach::alias_split: return "two buffers that must share an offset have different ones";
    case breach::not_apart: return "two buffers that must be apart share bytes";
    case breach::wrong_pool: return "the buffer is in a pool that it is not allowed in";
    case breach::above_pool: return "the buffer ends above the capacity of its pool";
  }
  return "breach";
}

/// The first breach found, and the positions of its buffers in the problem. `second` equals `first` if one buffer is at
/// fault.
struct violation_of_layout {
  breach rule = breach::missing_offset;
  position first = 0;
  position second = 0;
};

}  // namespace plan

namespace detail::planner {

using plan::breach;
using plan::layout;
using plan::violation_of_layout;

/// A byte range of a buffer during a time range.
struct occupied {
  std::uint64_t birth = 0, death = 0, low = 0, high = 0;
  position buffer = 0;
  std::uint32_t pool = 0;
};

/// Checks one layout rule by rule.
class layout_checker {
public:
  layout_checker(const problem& p, const layout& l) : p_(p), l_(l) {}

  using result = std::optional<violation_of_layout>;

  [[nodiscard]] result run() {
    if (l_.offsets.size() != p_.buffers.size()) return violation_of_layout{breach::missing_offset, 0, 0};
    if (!p_.pools.empty() && l_.pools.size() != p_.buffers.size())
      return violation_of_layout{breach::missing_offset, 0, 0};
    if (const result r = check_each()) return r;
    if (const result r = check_pairs()) return r;
    if (const result r = check_pools()) return r;
    collect();
    return p_.aliases.empty() ? check_overlaps() : check_overlaps_of_aliases();
  }

private:
  [[nodiscard]] result check_each() const {
    for (position i = 0; i < p_.buffers.size(); ++i) {
      const buffer& b = p_.buffers[i];
      if (b.alignment == 0 || l_.offsets[i] % b.alignment != 0) return violation_of_layout{breach::misaligned, i, i};
      if (l_.offsets[i] > l_.height || b.size > l_.height - l_.offsets[i])
        return violation_of_layout{breach::above_height, i, i};
    }
    for (const pin& q : p_.pins)
      if (l_.offsets[q.buffer] != q.offset) return violation_of_layout{breach::pin_moved, q.buffer, q.buffer};
    return std::nullopt;
  }

  [[nodiscard]] std::uint32_t pool_of(position i) const { return p_.pools.empty() ? 0 : l_.pools[i]; }
  [[nodiscard]] std::uint64_t end_of(position i) const { return l_.offsets[i] + p_.buffers[i].size; }

  [[nodiscard]] result check_pairs() const {
    for (const pair& q : p_.aliases)
      if (l_.offsets[q.first] != l_.offsets[q.second] || pool_of(q.first) != pool_of(q.second))
        return violation_of_layout{breach::alias_split, q.first, q.second};
    for (const pair& q : p_.apart)
      if (pool_of(q.first) == pool_of(q.second) && l_.offsets[q.first] < end_of(q.second) &&
          l_.offsets[q.second] < end_of(q.first))
        return violation_of_layout{breach::not_apart, q.first, q.second};
    return std::nullopt;
  }

  [[nodiscard]] result check_pools() const {
    if (p_.pools.empty()) return std::nullopt;
    for (position i = 0; i < p_.buffers.size(); ++i) {
      if (l_.pools[i] >= p_.pools.size()) return violation_of_layout{breach::wrong_pool, i, i};
      if (end_of(i) > p_.pools[l_.pools[i]].capacity) return violation_of_layout{breach::above_pool, i, i};
    }
    for (const pool_mask& a : p_.pool_masks)
      if ((a.pools >> l_.pools[a.buffer] & 1) == 0) return violation_of_layout{breach::wrong_pool, a.buffer, a.buffer};
    return std::nullopt;
  }

  void collect() {
    const std::vector<gap> gaps = sorted_gaps(p_);
    auto g = gaps.begin();
    for (position i = 0; i < p_.buffers.size(); ++i) {
      std::uint64_t now = p_.buffers[i].birth;
      for (; g != gaps.end() && g->buffer == i; ++g) {
        add(i, now, g->begin, 0, p_.buffers[i].size);
        add(i, g->begin, g->end, g->low, g->high);
        now = g->end;
      }
      add(i, now, p_.buffers[i].death, 0, p_.buffers[i].size);
    }
  }

  void add(position i, std::uint64_t birth, std::uint64_t death, std::uint64_t low, std::uint64_t high) {
    if (birth < death && low < high)
      pieces_.push_back({birth, death, l_.offsets[i] + low, l_.offsets[i] + high, i, pool_of(i)});
  }

  /// Sweeps time with the live ranges sorted by address: the first overlap is always one of neighbours.
  [[nodiscard]] result check_overlaps() const {
    std::map<std::pair<std::uint32_t, std::uint64_t>, const occupied*> live;
    for (const event& e : events()) {
      const std::pair<std::uint32_t, std::uint64_t> key{e.piece->pool, e.piece->low};
      if (e.dies) {
        live.erase(key);
        continue;
      }
      const auto next = live.lower_bound(key);
      if (next != live.end() && clash(*next->second, *e.piece)) return overlap(*next->second, *e.piece);
      if (next != live.begin() && clash(*std::prev(next)->second, *e.piece))
        return overlap(*std::prev(next)->second, *e.piece);
      live.emplace(key, e.piece);
    }
    return std::nullopt;
  }

  /// Members of an alias group may overlap, so every live range is compared. Complexity: O(n * live).
  [[nodiscard]] result check_overlaps_of_aliases() const {
    const std::vector<position> group = group_of_each();
    std::vector<const occupied*> live;
    for (const event& e : events()) {
      if (e.dies) {
        live.erase(std::find(live.begin(), live.end(), e.piece));
        continue;
      }
      for (const occupied* other : live)
        if (group[other->buffer] != group[e.piece->buffer] && clash(*other, *e.piece)) return overlap(*other, *e.piece);
      live.push_back(e.piece);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::vector<position> group_of_each() const {
    std::vector<std::vector<position>> linked(p_.buffers.size());
    for (const pair& q : p_.aliases) {
      linked[q.first].push_back(q.second);
      linked[q.second].push_back(q.first);
    }
    constexpr position unseen = ~position{0};
    std::vector<position> group(p_.buffers.size(), unseen), open;
    for (position i = 0; i < group.size(); ++i) {
      if (group[i] != unseen) continue;
      for (open.assign(1, i), group[i] = i; !open.empty();) {
        const position at = open.back();
        open.pop_back();
        for (const position other : linked[at])
          if (group[other] == unseen) {
            group[other] = i;
            open.push_back(other);
          }
      }
    }
    return group;
  }

  struct event {
    std::uint64_t when = 0;
    bool dies = false;
    const occupied* piece = nullptr;
  };

  [[nodiscard]] std::vector<event> events() const {
    std::vector<event> all;
    for (const occupied& o : pieces_) {
      all.push_back({o.birth, false, &o});
      all.push_back({o.death, true, &o});
    }
    std::sort(all.begin(), all.end(),
              [](const event& a, const event& b) { return a.when != b.when ? a.when < b.when : a.dies && !b.dies; });
    return all;
  }

  [[nodiscard]] static bool clash(const occupied& a, const occupied& b) noexcept {
    return a.pool == b.pool && a.low < b.high && b.low < a.high;
  }

  [[nodiscard]] static result overlap(const occupied& a, const occupied& b) noexcept {
    return violation_of_layout{breach::overlap, std::min(a.buffer, b.buffer), std::max(a.buffer, b.buffer)};
  }

  const problem& p_;
  const layout& l_;
  std::vector<occupied> pieces_;
};

}  // namespace detail::planner

namespace plan {

/// Returns: the first rule of `p` that `l` breaks, and the buffers that break it; nothing if `l` is valid. Expects:
/// `check(p)` finds nothing. Complexity: O(n log n); with alias groups O(n * live).
[[nodiscard]] inline std::optional<violation_of_layout> validate(const problem& p, const layout& l) {
  return detail::planner::layout_checker(p, l).run();
}

}  // namespace plan
}  // namespace ashlar::ASHLAR_ABI
