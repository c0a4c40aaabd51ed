// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The planner at compile time: a fixed number of buffers, greedy placement, a result that `static_assert` can check.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/problem.hpp>

namespace ashlar::ASHLAR_ABI {
namespace plan {

/// A layout of `N` buffers without heap memory.
template <std::size_t N>
struct static_layout {
  std::array<std::uint64_t, N> offsets{};
  std::uint64_t height = 0;
  std::uint64_t lower_bound = 0;

  /// Returns: whether the greedy placement meets the bound. If not, a lower layout may or may not exist.
  [[nodiscard]] constexpr bool optimal() const noexcept { return height == lower_bound; }
};

}  // namespace plan

namespace detail::planner {

using plan::static_layout;

/// First fit over a sorted list of placed buffers.
template <std::size_t N>
class static_packer {
public:
  constexpr explicit static_packer(const std::array<buffer, N>& buffers) : buffers_(buffers) {}

  template <class Before>
  constexpr static_layout<N> pack(Before before) {
    std::array<std::size_t, N> order{};
    for (std::size_t i = 0; i < N; ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      if (before(buffers_[a], buffers_[b])) return true;
      return !before(buffers_[b], buffers_[a]) && a < b;
    });
    for (std::size_t placed = 0; placed < N; ++placed) place(order[placed], placed);
    return result_;
  }

private:
  constexpr void place(std::size_t i, std::size_t placed) {
    const buffer& b = buffers_[i];
    std::uint64_t at = 0;
    for (std::size_t k = 0; k < placed; ++k) {
      const buffer& other = buffers_[by_offset_[k]];
      const std::uint64_t low = result_.offsets[by_offset_[k]];
      if (!live_together(b, other)) continue;
      if (at + b.size <= low) break;
      at = std::max(at, (low + other.size + b.alignment - 1) & ~(b.alignment - 1));
    }
    result_.offsets[i] = at;
    result_.height = std::max(result_.height, at + b.size);
    std::size_t k = placed;
    for (; k > 0 && result_.offsets[by_offset_[k - 1]] > at; --k) by_offset_[k] = by_offset_[k - 1];
    by_offset_[k] = i;
  }

  const std::array<buffer, N>& buffers_;
  std::array<std::size_t, N> by_offset_{};
  static_layout<N> result_;
};

template <std::size_t N>
constexpr std::uint64_t greatest_load(const std::array<buffer, N>& buffers) noexcept {
  std::uint64_t most = 0;
  for (const buffer& at : buffers) {
    std::uint64_t load = 0;
    for (const buffer& b : buffers)
      if (b.birth <= at.birth && at.birth < b.death) load += b.size;
    most = std::max(most, load);
  }
  return most;
}

}  // namespace detail::planner

namespace plan {

/// Returns: the lowest of three greedy layouts: largest first, longest-lived first, greatest area first. Expects: every
/// buffer is sound (`check`), and sizes and alignments add up to at most 2^62 bytes; a violation at compile time does
/// not compile. Complexity: O(N^2).
template <std::size_t N>
[[nodiscard]] constexpr static_layout<N> solve(const std::array<buffer, N>& buffers) {
  std::uint64_t total = 0;
  for (const buffer& b : buffers) {
    ASHLAR_REQUIRE(!detail::planner::defect_of(b),
                   "planned a buffer without a size or a lifetime, or with an alignment that is not a power of two");
    ASHLAR_REQUIRE(detail::planner::add_within_limit(total, b.size) &&
                       detail::planner::add_within_limit(total, b.alignment - 1),
                   "planned more than 2^62 bytes");
  }
  const auto life = [](const buffer& b) { return b.death - b.birth; };
  const auto area = [&](const buffer& b) { return static_cast<double>(b.size) * static_cast<double>(life(b)); };
  const auto larger = [&](const buffer& a, const buffer& b) {
    return a.size != b.size ? a.size > b.size : life(a) > life(b);
  };
  const auto longer = [&](const buffer& a, const buffer& b) {
    return life(a) != life(b) ? life(a) > life(b) : a.size > b.size;
  };
  const auto wider = [&](const buffer& a, const buffer& b) { return area(a) > area(b); };
  static_layout<N> best = detail::planner::static_packer<N>(buffers).pack(larger);
  for (const auto& other : {detail::planner::static_packer<N>(buffers).pack(longer),
                            detail::planner::static_packer<N>(buffers).pack(wider)})
    if (other.height < best.height) best = other;
  best.lower_bound = detail::planner::greatest_load(buffers);
  return best;
}

}  // namespace plan
}  // namespace ashlar::ASHLAR_ABI
