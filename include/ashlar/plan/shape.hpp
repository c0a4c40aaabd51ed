// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What moves as one: a buffer without its gaps, or a whole alias group, as stretches of bytes over time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/alias_groups.hpp>
#include <ashlar/plan/problem.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

/// From `begin` to `end` the shape occupies the bytes `[low, high)` counted from its offset.
struct stretch {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

inline constexpr std::uint64_t unpinned = ~std::uint64_t{0};

/// A rigid set of stretches: `shapes::stretches[first .. last)`.
struct shape {
  std::uint64_t size = 0;
  std::uint64_t alignment = 1;
  std::uint64_t pin = unpinned;
  std::uint64_t pools = ~std::uint64_t{0};
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// The shapes of a problem. Stretches of one shape never overlap in both time and bytes.
struct shapes {
  std::vector<shape> list;
  std::vector<stretch> stretches;
  std::vector<std::uint32_t> of_buffer;  ///< The shape of each buffer.
  std::vector<pair> apart;               ///< Pairs of shapes.
};

namespace detail {

inline void append_merged(std::vector<stretch>& out, std::size_t from, const stretch& s) {
  if (out.size() > from && out.back().end == s.begin && out.back().low == s.low && out.back().high == s.high)
    out.back().end = s.end;
  else out.push_back(s);
}

/// The stretches of one buffer: its life, cut by its gaps. `gaps` is sorted by begin.
inline void append_life(std::vector<stretch>& out, const buffer& b, const gap* gaps, const gap* end) {
  const std::size_t from = out.size();
  std::uint64_t now = b.birth;
  for (; gaps != end; ++gaps) {
    if (now < gaps->begin) append_merged(out, from, {now, gaps->begin, 0, b.size});
    if (gaps->low < gaps->high) append_merged(out, from, {gaps->begin, gaps->end, gaps->low, gaps->high});
    now = gaps->end;
  }
  if (now < b.death) append_merged(out, from, {now, b.death, 0, b.size});
}

/// The bytes occupied during one elementary interval, as disjoint ranges.
inline void append_union(std::vector<stretch>& out, std::size_t from, std::uint64_t begin, std::uint64_t end,
                         std::vector<std::pair<std::uint64_t, std::uint64_t>>& windows) {
  std::sort(windows.begin(), windows.end());
  std::size_t kept = 0;
  for (const auto& w : windows)
    if (kept != 0 && w.first <= windows[kept - 1].second)
      windows[kept - 1].second = std::max(windows[kept - 1].second, w.second);
    else windows[kept++] = w;
  for (std::size_t k = 0; k < kept; ++k) append_merged(out, from, {begin, end, windows[k].first, windows[k].second});
}

/// The same for stretches that all start at the offset: only the highest counts. Complexity: O(k log k).
inline void append_tallest(std::vector<stretch>& out, std::vector<stretch> raw) {
  const std::size_t from = out.size();
  std::vector<std::uint64_t> times;
  for (const stretch& s : raw) times.insert(times.end(), {s.begin, s.end});
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::sort(raw.begin(), raw.end(), [](const stretch& a, const stretch& b) { return a.begin < b.begin; });
  const auto lower = [](const stretch& a, const stretch& b) { return a.high < b.high; };
  std::vector<stretch> open;  // a heap; what has ended leaves it when it comes to the top
  auto next = raw.begin();
  for (std::size_t t = 0; t + 1 < times.size(); ++t) {
    for (; next != raw.end() && next->begin == times[t]; ++next) {
      open.push_back(*next);
      std::push_heap(open.begin(), open.end(), lower);
    }
    while (!open.empty() && open.front().end <= times[t]) {
      std::pop_heap(open.begin(), open.end(), lower);
      open.pop_back();
    }
    if (!open.empty()) append_merged(out, from, {times[t], times[t + 1], 0, open.front().high});
  }
}

/// Makes the overlapping stretches of an alias group disjoint. Complexity: O(k log k), but O(k^2) in the size of the
/// group where windows hide its first bytes.
inline void append_group(std::vector<stretch>& out, const std::vector<stretch>& raw) {
  if (std::all_of(raw.begin(), raw.end(), [](const stretch& s) { return s.low == 0; })) return append_tallest(out, raw);
  const std::size_t from = out.size();
  std::vector<std::uint64_t> times;
  for (const stretch& s : raw) times.insert(times.end(), {s.begin, s.end});
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::vector<std::pair<std::uint64_t, std::uint64_t>> windows;
  for (std::size_t t = 0; t + 1 < times.size(); ++t) {
    windows.clear();
    for (const stretch& s : raw)
      if (s.begin <= times[t] && times[t + 1] <= s.end) windows.emplace_back(s.low, s.high);
    append_union(out, from, times[t], times[t + 1], windows);
  }
}

/// Builds shapes group by group.
class shape_builder {
public:
  explicit shape_builder(const problem& p) : problem_(p), gaps_(p.gaps) {
    std::sort(gaps_.begin(), gaps_.end(), [](const gap& a, const gap& b) {
      return a.buffer != b.buffer ? a.buffer < b.buffer : a.begin < b.begin;
    });
  }

  [[nodiscard]] shapes build() {
    number_groups();
    if (problem_.aliases.empty())
      for (position i = 0; i < problem_.buffers.size(); ++i) add_lone(i);
    else add_groups();
    add_constraints();
    return std::move(result_);
  }

private:
  void number_groups() {
    const std::vector<position> group = group_aliases(problem_);
    result_.of_buffer.resize(group.size());
    for (position i = 0; i < group.size(); ++i) {
      if (group[i] == i) {
        result_.of_buffer[i] = static_cast<std::uint32_t>(result_.list.size());
        result_.list.emplace_back();
      } else {
        result_.of_buffer[i] = result_.of_buffer[group[i]];
      }
      shape& s = result_.list[result_.of_buffer[i]];
      s.size = std::max(s.size, problem_.buffers[i].size);
      s.alignment = std::max(s.alignment, problem_.buffers[i].alignment);
    }
  }

  void append(std::vector<stretch>& out, position i) {
    const auto before = [](const gap& g, position b) { return g.buffer < b; };
    const auto begin = std::lower_bound(gaps_.begin(), gaps_.end(), i, before);
    const auto end = std::lower_bound(begin, gaps_.end(), i + 1, before);
    append_life(out, problem_.buffers[i], gaps_.data() + (begin - gaps_.begin()), gaps_.data() + (end - gaps_.begin()));
  }

  void add_lone(position i) {
    shape& s = result_.list[i];
    s.first = static_cast<std::uint32_t>(result_.stretches.size());
    append(result_.stretches, i);
    s.last = static_cast<std::uint32_t>(result_.stretches.size());
  }

  void add_groups() {
    std::vector<std::vector<position>> members(result_.list.size());
    for (position i = 0; i < problem_.buffers.size(); ++i) members[result_.of_buffer[i]].push_back(i);
    std::vector<stretch> raw;
    for (std::size_t g = 0; g < members.size(); ++g) {
      raw.clear();
      for (const position i : members[g]) append(raw, i);
      shape& s = result_.list[g];
      s.first = static_cast<std::uint32_t>(result_.stretches.size());
      if (members[g].size() == 1) result_.stretches.insert(result_.stretches.end(), raw.begin(), raw.end());
      else append_group(result_.stretches, raw);
      s.last = static_cast<std::uint32_t>(result_.stretches.size());
    }
  }

  void add_constraints() {
    for (const pin& q : problem_.pins) result_.list[result_.of_buffer[q.buffer]].pin = q.offset;
    for (const allowance& a : problem_.allowances) result_.list[result_.of_buffer[a.buffer]].pools &= a.pools;
    for (const pair& q : problem_.apart)
      result_.apart.push_back({result_.of_buffer[q.first], result_.of_buffer[q.second]});
  }

  const problem& problem_;
  std::vector<gap> gaps_;
  shapes result_;
};

}  // namespace detail

/// Returns: the shapes of `p`. Expects: `check(p)` finds nothing.
/// Complexity: O(n log n), but quadratic in the size of an alias group with windows that hide first bytes.
[[nodiscard]] inline shapes make_shapes(const problem& p) { return detail::shape_builder(p).build(); }

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
