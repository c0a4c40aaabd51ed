// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the instance of a problem: alias groups become items, lives without gaps become intervals, time becomes
// sections, and the sections of a connected part become neighbours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/problem.hpp>
#include <ashlar/detail/planner/instance.hpp>

namespace ashlar::ASHLAR_ABI::detail::planner {

/// Numbers the sections by walking births and deaths in time, deaths first.
class section_sweep {
public:
  explicit section_sweep(instance& out) : out_(out) {
    for (std::uint32_t x = 0; x < out.intervals.size(); ++x)
      if (out.intervals[x].begin < out.intervals[x].end) timed_.push_back(x);
    by_birth_ = sorted([](const interval& x) { return x.begin; });
    by_death_ = sorted([](const interval& x) { return x.end; });
  }

  void run() {
    std::size_t born = 0;
    for (const std::uint32_t d : by_death_) {
      const std::uint64_t now = out_.intervals[d].end;
      for (; born < by_birth_.size() && out_.intervals[by_birth_[born]].begin < now; ++born) open(by_birth_[born]);
      if (fresh_) close();
      out_.intervals[d].last = out_.sections;
    }
  }

private:
  template <class Key>
  std::vector<std::uint32_t> sorted(Key key) const {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> keyed(timed_.size());
    for (std::size_t k = 0; k < keyed.size(); ++k) keyed[k] = {key(out_.intervals[timed_[k]]), timed_[k]};
    std::sort(keyed.begin(), keyed.end());
    std::vector<std::uint32_t> order(keyed.size());
    for (std::size_t k = 0; k < keyed.size(); ++k) order[k] = keyed[k].second;
    return order;
  }

  void open(std::uint32_t x) {
    out_.intervals[x].first = out_.sections;
    moment_ = out_.intervals[x].begin;
    fresh_ = true;
  }

  void close() {
    ++out_.sections;
    out_.moments.push_back(moment_);
    fresh_ = false;
  }

  instance& out_;
  std::vector<std::uint32_t> timed_;
  std::vector<std::uint32_t> by_birth_;
  std::vector<std::uint32_t> by_death_;
  std::uint64_t moment_ = 0;
  bool fresh_ = false;  // a birth since the last section closed
};

/// Adds sections to an instance that has only moments.
class section_builder {
public:
  explicit section_builder(instance& out) : out_(out) {}

  void build() {
    if (!out_.apart.empty()) add_pair_intervals();
    section_sweep(out_).run();
    for (const instance::pair& q : out_.apart) add_pair_section(q);
    out_.in_time.resize(out_.sections);
    std::iota(out_.in_time.begin(), out_.in_time.end(), std::uint32_t{0});
    gather_parts();
  }

private:
  /// Adds to each item one interval for each pair of the item; the item is whole in it.
  void add_pair_intervals() {
    free_.assign(out_.items.size(), 0);
    for (const auto& [a, b] : out_.apart) ++free_[a], ++free_[b];
    std::vector<interval> old;
    old.swap(out_.intervals);
    for (std::uint32_t i = 0; i < out_.items.size(); ++i) {
      item& x = out_.items[i];
      const auto first = static_cast<std::uint32_t>(out_.intervals.size());
      out_.intervals.insert(out_.intervals.end(), old.data() + x.first, old.data() + x.last);
      x.first = first;
      const auto timed = static_cast<std::uint32_t>(out_.intervals.size());
      out_.intervals.resize(timed + free_[i], {0, 0, 0, x.size, 0, 0});
      x.last = static_cast<std::uint32_t>(out_.intervals.size());
      free_[i] = timed;
    }
  }

  void add_pair_section(const instance::pair& q) {
    const interval& birth = *out_.begin(q.first);
    out_.moments.push_back(birth.begin < birth.end ? birth.begin : 0);
    for (const std::uint32_t i : {q.first, q.second}) {
      interval& x = out_.intervals[free_[i]++];
      x.first = out_.sections;
      x.last = out_.sections + 1;
    }
    ++out_.sections;
  }

  /// Returns: for each section the number of its run; no interval crosses from one run to the next.
  [[nodiscard]] std::vector<std::uint32_t> number_runs() const {
    std::vector<std::int64_t> crossing(out_.sections + std::size_t{1}, 0);
    for (const interval& x : out_.intervals) {
      ++crossing[x.first];
      --crossing[x.last - 1];
    }
    std::vector<std::uint32_t> run(out_.sections, 0);
    std::int64_t open = 0;
    for (std::uint32_t s = 0; s + 1 < out_.sections; ++s) {
      open += crossing[s];
      run[s + 1] = run[s] + (open == 0);
    }
    return run;
  }

  /// Joins runs that share an item into one part. Sections keep their order within a part.
  void gather_parts() {
    if (out_.sections == 0) return;
    std::vector<std::uint32_t> run = number_runs();
    disjoint_sets parts(run.back() + std::size_t{1});
    bool tied = false;
    for (std::size_t i = 0; i < out_.items.size(); ++i)
      for (const interval* x = out_.begin(i); x != out_.end(i); ++x) {
        tied = tied || run[x->first] != run[out_.begin(i)->first];
        parts.unite(run[out_.begin(i)->first], run[x->first]);
      }
    if (tied) {
      for (std::uint32_t& r : run) r = parts.find(r);
      std::sort(out_.in_time.begin(), out_.in_time.end(),
                [&](std::uint32_t a, std::uint32_t b) { return run[a] != run[b] ? run[a] < run[b] : a < b; });
      renumber();
    }
    for (std::uint32_t s = 1; s <= out_.sections; ++s)
      if (s == out_.sections || run[out_.in_time[s]] != run[out_.in_time[s - 1]]) out_.part_ends.push_back(s);
  }

  void renumber() {
    std::vector<std::uint32_t> number(out_.sections);
    std::vector<std::uint64_t> moments(out_.sections);
    for (std::uint32_t s = 0; s < out_.sections; ++s) {
      number[out_.in_time[s]] = s;
      moments[s] = out_.moments[out_.in_time[s]];
    }
    for (interval& x : out_.intervals) {
      x.last = number[x.last - 1] + 1;
      x.first = number[x.first];
    }
    out_.moments = std::move(moments);
  }

  instance& out_;
  std::vector<std::uint32_t> free_;  // the first interval of each item that no pair has taken
};

/// Appends an interval, or extends the last one since `from` that it continues.
inline void append_merged(std::vector<interval>& out, std::size_t from, const interval& x) {
  if (out.size() > from && out.back().end == x.begin && out.back().low == x.low && out.back().high == x.high)
    out.back().end = x.end;
  else out.push_back(x);
}

[[nodiscard]] constexpr interval timed(std::uint64_t begin, std::uint64_t end, std::uint64_t low,
                                       std::uint64_t high) noexcept {
  return {0, 0, low, high, begin, end};
}

/// Appends the intervals of one buffer: its life, cut by its gaps. `gaps` is sorted by begin.
inline void append_life(std::vector<interval>& out, const buffer& b, const gap* gaps, const gap* end) {
  const std::size_t from = out.size();
  std::uint64_t now = b.birth;
  for (; gaps != end; ++gaps) {
    if (now < gaps->begin) append_merged(out, from, timed(now, gaps->begin, 0, b.size));
    if (gaps->low < gaps->high) append_merged(out, from, timed(gaps->begin, gaps->end, gaps->low, gaps->high));
    now = gaps->end;
  }
  if (now < b.death) append_merged(out, from, timed(now, b.death, 0, b.size));
}

/// Appends the intervals of buffer `i`. Expects: `gaps` are `sorted_gaps(p)`.
inline void append_life(std::vector<interval>& out, const problem& p, const std::vector<gap>& gaps, position i) {
  const auto before = [](const gap& g, position b) { return g.buffer < b; };
  const auto begin = std::lower_bound(gaps.begin(), gaps.end(), i, before);
  const auto end = std::lower_bound(begin, gaps.end(), i + 1, before);
  append_life(out, p.buffers[i], gaps.data() + (begin - gaps.begin()), gaps.data() + (end - gaps.begin()));
}

/// Appends the bytes occupied between two moments, as disjoint ranges.
inline void append_union(std::vector<interval>& out, std::size_t from, std::uint64_t begin, std::uint64_t end,
                         std::vector<std::pair<std::uint64_t, std::uint64_t>>& windows) {
  std::sort(windows.begin(), windows.end());
  std::size_t kept = 0;
  for (const auto& w : windows)
    if (kept != 0 && w.first <= windows[kept - 1].second)
      windows[kept - 1].second = std::max(windows[kept - 1].second, w.second);
    else windows[kept++] = w;
  for (std::size_t k = 0; k < kept; ++k)
    append_merged(out, from, timed(begin, end, windows[k].first, windows[k].second));
}

/// Returns: the moments at which an interval begins or ends, ascending.
[[nodiscard]] inline std::vector<std::uint64_t> moments_of(const std::vector<interval>& raw) {
  std::vector<std::uint64_t> times;
  for (const interval& x : raw) times.insert(times.end(), {x.begin, x.end});
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

/// Makes the intervals of an alias group disjoint if all start at the offset: only the highest counts. Complexity: O(k
/// log k).
inline void append_tallest(std::vector<interval>& out, std::vector<interval> raw) {
  const std::size_t from = out.size();
  const std::vector<std::uint64_t> times = moments_of(raw);
  std::sort(raw.begin(), raw.end(), [](const interval& a, const interval& b) { return a.begin < b.begin; });
  const auto lower = [](const interval& a, const interval& b) { return a.high < b.high; };
  std::vector<interval> open;  // a heap; an ended interval is removed when it reaches the top
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
    if (!open.empty()) append_merged(out, from, timed(times[t], times[t + 1], 0, open.front().high));
  }
}

/// Makes the overlapping intervals of an alias group disjoint. Complexity: O(k log k), but O(k^2) in the size of a
/// group with windows that hide its first bytes.
inline void append_group(std::vector<interval>& out, const std::vector<interval>& raw) {
  if (std::all_of(raw.begin(), raw.end(), [](const interval& x) { return x.low == 0; }))
    return append_tallest(out, raw);
  const std::size_t from = out.size();
  const std::vector<std::uint64_t> times = moments_of(raw);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> windows;
  for (std::size_t t = 0; t + 1 < times.size(); ++t) {
    windows.clear();
    for (const interval& x : raw)
      if (x.begin <= times[t] && times[t + 1] <= x.end) windows.emplace_back(x.low, x.high);
    append_union(out, from, times[t], times[t + 1], windows);
  }
}

/// Builds items group by group.
class instance_builder {
public:
  explicit instance_builder(const problem& p) : problem_(p), gaps_(sorted_gaps(p)) {}

  [[nodiscard]] instance build(std::uint64_t base_alignment) {
    number_groups(base_alignment);
    if (problem_.aliases.empty())
      for (position i = 0; i < problem_.buffers.size(); ++i) add_lone(i);
    else add_groups();
    add_constraints();
    section_builder(out_).build();
    return std::move(out_);
  }

private:
  void number_groups(std::uint64_t base_alignment) {
    const std::vector<position> group = group_aliases(problem_);
    out_.of_buffer.resize(group.size());
    for (position i = 0; i < group.size(); ++i) {
      if (group[i] == i) {
        out_.of_buffer[i] = static_cast<std::uint32_t>(out_.items.size());
        out_.items.emplace_back().alignment = base_alignment;
      } else {
        out_.of_buffer[i] = out_.of_buffer[group[i]];
      }
      item& x = out_.items[out_.of_buffer[i]];
      x.size = std::max(x.size, problem_.buffers[i].size);
      x.alignment = std::max(x.alignment, problem_.buffers[i].alignment);
    }
  }

  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(out_.intervals.size()); }

  void add_lone(position i) {
    out_.items[i].first = count();
    append_life(out_.intervals, problem_, gaps_, i);
    out_.items[i].last = count();
  }

  void add_groups() {
    std::vector<std::vector<position>> members(out_.items.size());
    for (position i = 0; i < problem_.buffers.size(); ++i) members[out_.of_buffer[i]].push_back(i);
    std::vector<interval> raw;
    for (std::size_t g = 0; g < members.size(); ++g) {
      raw.clear();
      for (const position i : members[g]) append_life(raw, problem_, gaps_, i);
      out_.items[g].first = count();
      if (members[g].size() == 1) out_.intervals.insert(out_.intervals.end(), raw.begin(), raw.end());
      else append_group(out_.intervals, raw);
      out_.items[g].last = count();
    }
  }

  void add_constraints() {
    for (const pin& q : problem_.pins) out_.items[out_.of_buffer[q.buffer]].pin = q.offset;
    for (const pool_mask& m : problem_.pool_masks) out_.items[out_.of_buffer[m.buffer]].pools &= m.pools;
    for (const pair& q : problem_.apart) out_.apart.emplace_back(out_.of_buffer[q.first], out_.of_buffer[q.second]);
  }

  const problem& problem_;
  std::vector<gap> gaps_;
  instance out_;
};

/// Returns: the instance of `p`, with no alignment below `base_alignment`. Expects: `check(p)` finds nothing.
/// Complexity: O(n log n), but quadratic in the size of an alias group with windows that hide first bytes.
[[nodiscard]] inline instance make_instance(const problem& p, std::uint64_t base_alignment = 1) {
  return instance_builder(p).build(base_alignment);
}

/// Returns: an instance of the chosen items, for one pool. Complexity: O(n log n).
[[nodiscard]] inline instance select(const instance& all, const std::vector<std::uint32_t>& chosen) {
  constexpr std::uint32_t none = ~std::uint32_t{0};
  instance out;
  std::vector<std::uint32_t> number(all.apart.empty() ? 0 : all.items.size(), none);
  for (const std::uint32_t i : chosen) {
    if (!number.empty()) number[i] = static_cast<std::uint32_t>(out.items.size());
    out.items.push_back(all.items[i]);
    out.items.back().first = static_cast<std::uint32_t>(out.intervals.size());
    for (const interval* x = all.begin(i); x != all.end(i); ++x)
      if (x->begin < x->end) out.intervals.push_back(*x);
    out.items.back().last = static_cast<std::uint32_t>(out.intervals.size());
  }
  for (const auto& [a, b] : all.apart)
    if (number[a] != none && number[b] != none) out.apart.emplace_back(number[a], number[b]);
  section_builder(out).build();
  return out;
}

}  // namespace ashlar::ASHLAR_ABI::detail::planner
