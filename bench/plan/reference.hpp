// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The usual first versions of a planner: quadratic greedy ones, as references.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/base/problem.hpp>

namespace ashlar::bench {

/// The choice among the gaps that are wide enough.
enum class fit {
  lowest,   ///< The lowest gap, as TFLite Micro and most others.
  tightest  ///< The smallest gap, as TFLite and XLA.
};

/// Returns: the height after placing the buffers in the given order. Complexity: O(n^2) and more.
inline std::uint64_t naive_height(const plan::problem& p, const std::vector<std::size_t>& order, fit rule) {
  std::vector<std::uint64_t> offset(p.buffers.size());
  std::vector<std::size_t> placed;  // by offset
  std::uint64_t height = 0;
  for (const std::size_t i : order) {
    const plan::buffer& b = p.buffers[i];
    std::uint64_t end = 0, best = 0, best_gap = ~std::uint64_t{0};
    bool found = false;
    for (const std::size_t j : placed) {
      if (!live_together(b, p.buffers[j])) continue;
      const std::uint64_t at = (end + b.alignment - 1) / b.alignment * b.alignment;
      if (at + b.size <= offset[j] && offset[j] - end < best_gap && !(found && rule == fit::lowest)) {
        best = at;
        best_gap = offset[j] - end;
        found = true;
      }
      end = std::max(end, offset[j] + p.buffers[j].size);
    }
    offset[i] = found ? best : (end + b.alignment - 1) / b.alignment * b.alignment;
    height = std::max(height, offset[i] + b.size);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](std::size_t x, std::size_t y) { return offset[x] < offset[y]; }),
                  i);
  }
  return height;
}

/// Returns: the buffers, the largest (or longest-lived) first.
inline std::vector<std::size_t> greatest_first(const plan::problem& p, bool by_life) {
  std::vector<std::size_t> order(p.buffers.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&](std::size_t i) { return by_life ? p.buffers[i].death - p.buffers[i].birth : p.buffers[i].size; };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
  return order;
}

}  // namespace ashlar::bench
