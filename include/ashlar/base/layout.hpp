// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layout: an offset for every buffer, the proof of its quality, and the successions of bytes between buffers; the
// options of the planner.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/problem.hpp>

namespace ashlar::ASHLAR_ABI::plan {

/// The verdict on a layout.
enum class status {
  optimal,     ///< No layout is lower.
  feasible,    ///< Valid, within the capacity if one was given; a lower one may exist.
  infeasible,  ///< No layout fits the capacity or the pools. Offsets are the best without the capacity, if any.
  unknown,     ///< The budget ended before a fit was found or excluded. Offsets as for `infeasible`.
  rejected     ///< The problem is malformed (see `check`). There are no offsets.
};

/// The reason for a verdict `optimal` or `infeasible`.
enum class proof {
  none,
  pins,       ///< Pinned buffers collide or exceed the capacity, or the highest of them sets the height.
  load,       ///< The buffers live at one moment fill the height or exceed the capacity.
  exhaustion  ///< The search tried everything; failed states were recorded by their full content.
};

[[nodiscard]] constexpr std::string_view name_of(status s) noexcept {
  switch (s) {
    case status::optimal: return "optimal";
    case status::feasible: return "feasible";
    case status::infeasible: return "infeasible";
    case status::unknown: return "unknown";
    case status::rejected: return "rejected";
  }
  return "status";
}

[[nodiscard]] constexpr std::string_view name_of(proof p) noexcept {
  switch (p) {
    case proof::none: return "none";
    case proof::pins: return "pins";
    case proof::load: return "load";
    case proof::exhaustion: return "exhaustion";
  }
  return "proof";
}

/// Counters of the planner's work.
struct statistics {
  std::uint64_t nodes = 0;          ///< States expanded by the exact search.
  std::uint64_t table_hits = 0;     ///< States recognised as failed.
  std::uint64_t greedy_height = 0;  ///< The best height before the exact search.
  std::uint32_t partitions = 0;     ///< Parts of the problem that share no moment.
  std::uint32_t sections = 0;       ///< Maximal sets of buffers that live together.
  std::uint32_t windows = 0;        ///< Bottleneck windows tried on large problems.
};

/// A plan. `offsets[i]` belongs to `problem::buffers[i]`. There are no offsets if the problem is rejected, if pins
/// collide, or if no layout for the pools was found.
struct layout {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> pools;  ///< The pool of each buffer; empty if the problem has no pools.
  std::uint64_t height = 0;          ///< Bytes needed: the greatest end of a buffer (over all pools).
  std::uint64_t lower_bound = 0;     ///< No layout is lower, in bytes.
  plan::status status = plan::status::unknown;
  plan::proof proof = plan::proof::none;
  std::uint64_t peak_moment = 0;    ///< A moment that forces the load bound ...
  std::vector<position> peak_live;  ///< ... and the buffers live then.
  statistics stats;

  [[nodiscard]] bool optimal() const noexcept { return status == plan::status::optimal; }
};

/// Returns: each pair `{before, after}` in which `after` is born into bytes that `before` held last, in the order of
/// the births of `after`. Expects: `l` is valid for `p`. Complexity: O(n log n + pairs). Each birth leaves at most two
/// new ranges of bytes, so there are O(n) pairs.
[[nodiscard]] inline std::vector<pair> successions(const problem& p, const layout& l) {
  struct holder {
    std::uint64_t end;
    position buffer;
  };
  using place = std::pair<std::uint32_t, std::uint64_t>;  // pool, first byte
  std::map<place, holder> held;
  std::vector<position> order(p.buffers.size());
  for (position i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](position a, position b) {
    return p.buffers[a].birth != p.buffers[b].birth ? p.buffers[a].birth < p.buffers[b].birth : a < b;
  });
  std::vector<pair> result;
  for (const position i : order) {
    const std::uint32_t pool = l.pools.empty() ? 0 : l.pools[i];
    const std::uint64_t low = l.offsets[i], high = low + p.buffers[i].size;
    auto at = held.upper_bound({pool, low});
    if (at != held.begin() && std::prev(at)->first.first == pool && std::prev(at)->second.end > low) --at;
    const auto first_pair = static_cast<std::ptrdiff_t>(result.size());
    while (at != held.end() && at->first.first == pool && at->first.second < high) {
      const std::uint64_t begin = at->first.second;
      const holder old = at->second;
      at = held.erase(at);
      if (begin < low) held.insert({{pool, begin}, {low, old.buffer}});
      if (old.end > high) held.insert({{pool, high}, {old.end, old.buffer}});
      const auto same = [&](const pair& q) { return q.first == old.buffer; };
      if (std::none_of(result.begin() + first_pair, result.end(), same)) result.push_back({old.buffer, i});
      if (old.end >= high) break;
    }
    held.insert({{pool, low}, {high, i}});
  }
  return result;
}

/// The effort of a search without a budget.
enum class effort {
  fast,      ///< Greedy placement in a few orders, two for thousands of buffers.
  balanced,  ///< Then a bounded exact search.
  exact      ///< Then an unlimited exact search: give it a budget, or a stop flag.
};

/// The best layout and bound so far, in bytes.
struct progress {
  std::uint64_t height = 0;       ///< Of the best layout so far.
  std::uint64_t lower_bound = 0;  ///< Proved so far.
  std::uint64_t nodes = 0;
};

/// The defaults plan for the least height with bounded work, with the same result on every machine and in every run.
struct options {
  plan::effort effort = plan::effort::balanced;
  std::uint64_t nodes = 0;                  ///< States the exact search may expand; 0: depends on the effort.
  std::chrono::nanoseconds time{0};         ///< Wall-clock budget; 0: none. Results may vary with it.
  std::optional<std::uint64_t> capacity{};  ///< Decide whether this many bytes suffice, and stop at the first fit.
  std::uint64_t base_alignment = 1;         ///< Every offset is a multiple of this power of two.
  std::uint64_t seed = 0;                   ///< If not 0, adds one shuffled order, drawn from the seed.
  const layout* previous = nullptr;         ///< Keep offsets of this layout if that costs no height.
  const std::atomic<bool>* stop = nullptr;  ///< Set by another thread or a signal: return the best layout so far.
  std::function<void(const progress&)> on_progress{};  ///< Called when a better layout or bound is found.
};

}  // namespace ashlar::ASHLAR_ABI::plan
