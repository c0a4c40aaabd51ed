// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Greedy placement from the bottom up: always the item that can lie lowest, on top of all that lies there already.
//
//   First fit takes items in a fixed order and fills holes beneath others; this takes whatever the skyline offers the
//   lowest place to, and leaves no hole it could have filled. Neither is always better.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/budget.hpp>
#include <ashlar/plan/first_fit.hpp>
#include <ashlar/plan/model.hpp>
#include <ashlar/plan/order.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

/// The height of what lies in each section. Heights only rise, so that nothing has to be passed down the tree.
class skyline {
public:
  explicit skyline(std::uint32_t sections)
      : leaves_(std::bit_ceil(std::max<std::uint32_t>(sections, 1))), highest_(std::size_t{leaves_} * 2),
        covering_(std::size_t{leaves_} * 2) {}

  /// Returns: the greatest height in the sections `[first, last)`. Complexity: O(log n).
  [[nodiscard]] std::uint64_t over(std::uint32_t first, std::uint32_t last) const noexcept {
    std::uint64_t most = 0;
    std::uint32_t left = first + leaves_, right = last + leaves_;
    for (; left < right; left /= 2, right /= 2) {
      if (left & 1) most = std::max(most, highest_[left++]);
      if (right & 1) most = std::max(most, highest_[--right]);
    }
    for (left = first + leaves_, right = last - 1 + leaves_; left != 0; left /= 2, right /= 2)
      most = std::max({most, covering_[left], covering_[right]});
    return most;
  }

  /// Effects: makes `height` that of the sections `[first, last)`. Expects: it is not lower than `over(first, last)`.
  void raise(std::uint32_t first, std::uint32_t last, std::uint64_t height) noexcept {
    std::uint32_t left = first + leaves_, right = last + leaves_;
    for (; left < right; left /= 2, right /= 2) {
      if (left & 1) cover(left++, height);
      if (right & 1) cover(--right, height);
    }
    for (left = first + leaves_, right = last - 1 + leaves_; left != 0; left /= 2, right /= 2)
      for (const std::uint32_t n : {left, right}) highest_[n] = std::max(highest_[n], height);
  }

private:
  void cover(std::uint32_t n, std::uint64_t height) noexcept { highest_[n] = covering_[n] = height; }

  std::uint32_t leaves_;
  std::vector<std::uint64_t> highest_;   // in any section below the node
  std::vector<std::uint64_t> covering_;  // of the last raise that took the node whole
};

/// Returns: the items, none of which is pinned, placed from the bottom up; among those that can lie equally low the
/// first of the order. Empty if the budget ended before. Complexity: O(log n) for each time that an item was about to
/// be placed and found its place gone; thousands of these count as a node of the budget.
[[nodiscard]] inline placement place_from_below(const model& m, order o, budget& allowance) {
  constexpr std::uint64_t tries_per_node = 4096;
  using candidate = std::pair<std::uint64_t, std::uint32_t>;  // offset, rank
  const std::vector<std::uint32_t> items = sorted_by(m, o);
  skyline line(m.sections);
  const auto lowest = [&](std::uint32_t i) {
    std::uint64_t offset = 0;
    for (const piece* p = m.begin(i); p != m.end(i); ++p) {
      const std::uint64_t below = line.over(p->first, p->last);
      offset = std::max(offset, below - std::min(below, p->low));
    }
    return (offset + m.items[i].alignment - 1) & ~(m.items[i].alignment - 1);
  };
  std::vector<candidate> all;
  for (std::uint32_t k = 0; k < items.size(); ++k) all.emplace_back(0, k);
  std::priority_queue<candidate, std::vector<candidate>, std::greater<>> open(std::greater<>(), std::move(all));
  placement result;
  result.offsets.assign(items.size(), 0);
  for (std::uint64_t tries = 1; !open.empty(); ++tries) {
    if (tries % tries_per_node == 0 && !allowance.spend()) return {};
    const auto [offset, rank] = open.top();
    open.pop();
    const std::uint32_t i = items[rank];
    const std::uint64_t at = lowest(i);
    if (at != offset) {
      open.emplace(at, rank);
      continue;
    }
    for (const piece* p = m.begin(i); p != m.end(i); ++p) line.raise(p->first, p->last, at + p->high);
    result.offsets[i] = at;
    result.height = std::max(result.height, at + m.items[i].size);
  }
  return result;
}

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
