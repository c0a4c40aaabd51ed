// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The classes of run lengths; a run may be freed with any length of its class.
#pragma once

#include <bit>
#include <cstddef>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The longest run inside a slab, in cells: one bitmap word.
inline constexpr std::size_t longest_run = 64;

/// Returns: the number of cells for a run of `n`: 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, ... At most a third is
/// unused.
/// `run_length(m) == run_length(n)` for all `m` from `n` to `run_length(n)`. Expects: `n <= longest_run`.
[[nodiscard]] constexpr std::size_t run_length(std::size_t n) noexcept {
  if (n <= 1) return 1;
  const std::size_t whole = std::bit_ceil(n);
  const std::size_t three_quarters = whole / 2 + whole / 4;
  return n <= three_quarters ? three_quarters : whole;
}

/// Returns: whether a run of `n` fits a slab of `capacity` cells; longer ones come from the upstream.
[[nodiscard]] constexpr bool is_run_of_slab(std::size_t n, std::size_t capacity) noexcept {
  return n <= longest_run && run_length(n) <= capacity;
}

}  // namespace ashlar::ASHLAR_ABI::detail
