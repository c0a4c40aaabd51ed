// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What pinned items allow: whether two of them collide, and the height they force.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/first_fit.hpp>
#include <ashlar/plan/model.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

/// Returns: whether two pinned items overlap. Complexity: O(p log^2 n).
[[nodiscard]] inline bool pins_collide(const model& m) {
  if (std::all_of(m.items.begin(), m.items.end(), [](const item& x) { return x.pin == unpinned; })) return false;
  first_fit packer(m);
  for (std::uint32_t i = 0; i < m.items.size(); ++i) {
    if (m.items[i].pin == unpinned) continue;
    if (packer.find(i, m.items[i].pin) != m.items[i].pin) return true;
    packer.put(i, m.items[i].pin);
  }
  return false;
}

/// Returns: the greatest end of a pinned item; 0 if nothing is pinned.
[[nodiscard]] inline std::uint64_t pinned_height(const model& m) noexcept {
  std::uint64_t height = 0;
  for (const item& x : m.items)
    if (x.pin != unpinned) height = std::max(height, x.pin + x.size);
  return height;
}

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
