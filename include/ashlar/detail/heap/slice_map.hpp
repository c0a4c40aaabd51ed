// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs of ones in a word of 64 bits: the free neighbouring slices of a segment.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/algorithm.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// One bit for each slice. A free sets the bits of a run, which joins it with its neighbours without further work.
using slice_mask = std::uint64_t;

/// Returns: `length` ones from bit `first` on. Expects: `1 <= length`, `first + length <= 64`.
[[nodiscard]] constexpr slice_mask slices(std::size_t first, std::size_t length) noexcept {
  return (~slice_mask{0} >> (64 - length)) << first;
}

/// Returns: the starts of runs of at least `length` ones in `mask`. Expects: `1 <= length <= 64`.
/// Complexity: O(log length).
[[nodiscard]] constexpr slice_mask starts_of_runs(slice_mask mask, std::size_t length) noexcept {
  std::size_t known = 1;  // each bit left in `mask` starts a run of at least `known` ones
  for (; known * 2 <= length; known *= 2) mask &= mask >> known;
  return mask & (mask >> (length - known));
}

/// Returns: the bits with an index that is a multiple of `step`. Expects: `step` is a power of two.
[[nodiscard]] constexpr slice_mask multiples_of(std::size_t step) noexcept {
  return step >= 64 ? 1 : ~slice_mask{0} / slices(0, step);
}

/// Returns: the length of the run of ones around bit `at`. Expects: that bit is set.
[[nodiscard]] constexpr std::size_t run_around(slice_mask mask, std::size_t at) noexcept {
  return static_cast<std::size_t>(std::countr_one(mask >> at) + std::countl_one(mask << (63 - at)) - 1);
}

/// Returns: the number of ones in a row from bit `at` on; 0 if that bit is clear.
[[nodiscard]] constexpr std::size_t run_from(slice_mask mask, std::size_t at) noexcept {
  return at >= 64 ? 0 : static_cast<std::size_t>(std::countr_one(mask >> at));
}

/// Effects: calls `f(first, length)` for each maximal run of ones, the lowest first.
template <class F>
constexpr void for_each_run(slice_mask mask, F f) {
  while (mask != 0) {
    const auto first = static_cast<std::size_t>(std::countr_zero(mask));
    const std::size_t length = run_from(mask, first);
    f(first, length);
    mask &= ~slices(first, length);
  }
}

/// Returns: the length of the longest run of ones.
[[nodiscard]] constexpr std::size_t longest_run_in(slice_mask mask) noexcept {
  std::size_t longest = 0;
  for_each_run(mask, [&](std::size_t, std::size_t length) { longest = detail::max(longest, length); });
  return longest;
}

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
