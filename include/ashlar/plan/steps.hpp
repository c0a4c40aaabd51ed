// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The lives of buffers as a sequence of births and deaths.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/problem.hpp>

namespace ashlar::ASHLAR_ABI::plan {

/// One birth or death as one number, so that a table of steps is small.
struct step {
  std::uint32_t code = 0;

  [[nodiscard]] static constexpr step birth(position i) noexcept { return {i << 1}; }
  [[nodiscard]] static constexpr step death(position i) noexcept { return {i << 1 | 1}; }
  [[nodiscard]] constexpr position buffer() const noexcept { return code >> 1; }
  [[nodiscard]] constexpr bool dies() const noexcept { return (code & 1) != 0; }
  friend constexpr bool operator==(const step&, const step&) = default;
};

/// Returns: the births and deaths of all buffers in the order of time; at one moment deaths first, then by position.
/// Expects: at most 2^31 buffers. Complexity: O(n log n).
[[nodiscard]] inline std::vector<step> steps_of(const std::vector<buffer>& buffers) {
  using key = std::tuple<std::uint64_t, bool, position>;  // moment, birth, buffer
  std::vector<key> keys;
  keys.reserve(2 * buffers.size());
  for (position i = 0; i < buffers.size(); ++i) {
    keys.emplace_back(buffers[i].birth, true, i);
    keys.emplace_back(buffers[i].death, false, i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<step> steps(keys.size());
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const auto& [moment, born, i] = keys[k];
    steps[k] = born ? step::birth(i) : step::death(i);
  }
  return steps;
}

}  // namespace ashlar::ASHLAR_ABI::plan
