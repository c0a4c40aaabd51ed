// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who takes over whose bytes: the pairs between which a GPU wants a barrier.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/layout.hpp>
#include <ashlar/plan/problem.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

/// Returns: each pair `{before, after}` in which `after` is born into bytes that `before` was the last to hold, in the
/// order of birth of `after`. Expects: `l` is valid for `p`. Complexity: O(n log n + pairs); each birth leaves at most
/// two new pieces of bytes, so there are O(n) pairs.
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

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
