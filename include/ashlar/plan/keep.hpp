// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keeps offsets of an earlier layout where they still fit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/first_fit.hpp>
#include <ashlar/plan/model.hpp>
#include <ashlar/plan/order.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

/// Returns: a placement in which every item that can, the largest first, lies at its wished offset below `height`, the
/// others by first fit. It may be higher than `height`; the caller then does without it. Empty if pins collide.
[[nodiscard]] inline placement keep_offsets(const model& m, const std::vector<std::uint64_t>& wished,
                                            std::uint64_t height) {
  first_fit packer(m);
  placement kept;
  kept.offsets.assign(m.items.size(), 0);
  std::vector<bool> done(m.items.size());
  const auto put = [&](std::uint32_t i, std::uint64_t offset) {
    packer.put(i, offset);
    done[i] = true;
    kept.offsets[i] = offset;
    kept.height = std::max(kept.height, offset + m.items[i].size);
  };
  for (std::uint32_t i = 0; i < m.items.size(); ++i)
    if (m.items[i].pin != unpinned) put(i, m.items[i].pin);
  const std::vector<std::uint32_t> items = sorted_by(m, order::size_life);
  for (const std::uint32_t i : items)
    if (!done[i] && wished[i] <= height && m.items[i].size <= height - wished[i] &&
        packer.find(i, wished[i]) == wished[i])
      put(i, wished[i]);
  for (const std::uint32_t i : items)
    if (!done[i]) put(i, packer.find(i));
  return kept;
}

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
