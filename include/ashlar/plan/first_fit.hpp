// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Greedy placement: items one by one, each at the lowest offset free over its whole life.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/model.hpp>
#include <ashlar/plan/occupancy.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

/// Offsets for the items of a model, and the height they reach.
struct placement {
  std::vector<std::uint64_t> offsets;
  std::uint64_t height = 0;
};

/// Places items of one model, in any order, each once.
class first_fit {
public:
  explicit first_fit(const model& m) : model_(m), taken_(m.sections) {}

  /// Returns: the lowest offset, not below `from`, at which item `i` overlaps nothing placed.
  [[nodiscard]] std::uint64_t find(std::uint32_t i, std::uint64_t from = 0) {
    const item& x = model_.items[i];
    std::uint64_t offset = align(from, x.alignment);
    const auto count = static_cast<std::size_t>(x.last - x.first);
    if (count == 1 && model_.begin(i)->low == 0) return fit(*model_.begin(i), offset, x.alignment);
    std::size_t agreeing = 0;
    for (std::size_t k = 0; agreeing < count; k = k + 1 == count ? 0 : k + 1) {
      const piece& p = model_.begin(i)[k];
      const std::uint64_t next = align(fit(p, offset + p.low, 1) - p.low, x.alignment);
      agreeing = next == offset ? agreeing + 1 : 0;
      offset = next;
    }
    return offset;
  }

  /// Effects: takes the bytes of item `i` at `offset`.
  void put(std::uint32_t i, std::uint64_t offset) {
    for (const piece* p = model_.begin(i); p != model_.end(i); ++p)
      taken_.insert(p->first, p->last, {offset + p->low, offset + p->high});
  }

private:
  static std::uint64_t align(std::uint64_t n, std::uint64_t alignment) noexcept {
    return (n + alignment - 1) & ~(alignment - 1);
  }

  std::uint64_t fit(const piece& p, std::uint64_t from, std::uint64_t alignment) {
    lists_.clear();
    taken_.collect(p.first, p.last, lists_);
    return lowest_fit(lists_, from, p.high - p.low, alignment, cursors_);
  }

  const model& model_;
  occupancy taken_;
  std::vector<const range_list*> lists_;
  std::vector<detail::range_cursor> cursors_;
};

/// Returns: the items placed by first fit, the pinned ones first, the others in the given order.
/// Complexity: O(n log^2 n) where the taken bytes coalesce, as they mostly do.
[[nodiscard]] inline placement place_in_order(const model& m, const std::vector<std::uint32_t>& order) {
  placement result;
  result.offsets.assign(m.items.size(), 0);
  first_fit packer(m);
  const auto put = [&](std::uint32_t i, std::uint64_t offset) {
    packer.put(i, offset);
    result.offsets[i] = offset;
    result.height = std::max(result.height, offset + m.items[i].size);
  };
  for (std::uint32_t i = 0; i < m.items.size(); ++i)
    if (m.items[i].pin != unpinned) put(i, m.items[i].pin);
  for (const std::uint32_t i : order)
    if (m.items[i].pin == unpinned) put(i, packer.find(i));
  return result;
}

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
