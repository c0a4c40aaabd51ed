// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Greedy placement in several orders, the best of which is kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

/// A small generator of numbers that depend on nothing but the seed (SplitMix64, Steele, Lea and Flood 2014).
class splitmix {
public:
  constexpr explicit splitmix(std::uint64_t seed) noexcept : state_(seed) {}

  constexpr std::uint64_t operator()() noexcept {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  /// Returns: a number below `bound`. Expects: `bound != 0`.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept { return (*this)() % bound; }

  /// Returns: an index below `count`. Expects: `count != 0`.
  constexpr std::size_t index(std::size_t count) noexcept { return static_cast<std::size_t>(below(count)); }

private:
  std::uint64_t state_;
};

namespace detail {

inline void keep_better(placement& best, placement&& other) {
  if (best.offsets.empty() || other.height < best.height) best = std::move(other);
}

/// The largest first, but each buffer may be passed by up to eight smaller ones.
[[nodiscard]] inline std::vector<std::uint32_t> shuffled_order(const model& m, std::uint64_t seed) {
  std::vector<std::uint32_t> items = sorted_by(m, order::size_life);
  splitmix random(seed);
  for (std::size_t k = 0; k + 1 < items.size(); ++k)
    std::swap(items[k], items[k + random.index(std::min<std::size_t>(8, items.size() - k))]);
  return items;
}

}  // namespace detail

/// Returns: the lowest placement of some orders, the first that is no higher than `target`.
/// At least one order is tried; after that the budget is looked at before each. `hasty` tries two.
[[nodiscard]] inline placement best_of_orders(const model& m, std::uint64_t target, std::uint64_t seed,
                                              budget& allowance, bool hasty = false) {
  placement best;
  std::size_t tried = 0;
  for (const order o : all_orders) {
    if (!best.offsets.empty() && (best.height <= target || allowance.exhausted())) return best;
    detail::keep_better(best, place_in_order(m, sorted_by(m, o)));
    if (hasty && ++tried == 2) return best;
  }
  if (seed != 0 && best.height > target && !allowance.exhausted())
    detail::keep_better(best, place_in_order(m, detail::shuffled_order(m, seed)));
  return best;
}

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
