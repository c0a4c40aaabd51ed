// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Groups of buffers that must share one offset: the connected components of the alias pairs.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/problem.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

/// Disjoint sets with path halving. The lowest member stands for its set.
class disjoint_sets {
public:
  explicit disjoint_sets(std::size_t count) : parent_(count) {
    for (position i = 0; i < count; ++i) parent_[i] = i;
  }

  [[nodiscard]] position find(position i) noexcept {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  void unite(position a, position b) noexcept {
    a = find(a);
    b = find(b);
    if (a > b) std::swap(a, b);
    parent_[b] = a;
  }

private:
  std::vector<position> parent_;
};

/// Returns: for each buffer the first buffer of its group; itself if it is alone.
/// Expects: the pairs name existing buffers.
[[nodiscard]] inline std::vector<position> group_aliases(const problem& p) {
  disjoint_sets sets(p.buffers.size());
  for (const pair& q : p.aliases) sets.unite(q.first, q.second);
  std::vector<position> group(p.buffers.size());
  for (position i = 0; i < group.size(); ++i) group[i] = sets.find(i);
  return group;
}

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
