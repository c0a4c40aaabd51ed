// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is to be planned: buffers with lives, and the constraints between them.
#pragma once

#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/buffer.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

/// The position of a buffer in `problem::buffers`. Constraints and layouts name buffers by it, not by id.
using position = std::uint32_t;

/// During `[begin, end)` the buffer keeps only its bytes `[low, high)`; by default it keeps none.
struct gap {
  position buffer = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend constexpr bool operator==(const gap&, const gap&) = default;
};

/// The buffer must lie exactly at `offset`.
struct pin {
  position buffer = 0;
  std::uint64_t offset = 0;
  friend constexpr bool operator==(const pin&, const pin&) = default;
};

/// Two buffers tied by a rule; which rule, the list says that holds the pair.
struct pair {
  position first = 0;
  position second = 0;
  friend constexpr bool operator==(const pair&, const pair&) = default;
};

/// A separate address space. Offsets count from the start of the pool.
struct pool {
  std::uint64_t capacity = 0;
  friend constexpr bool operator==(const pool&, const pool&) = default;
};

/// The buffer may lie in pool `p` only if bit `p` of `pools` is set.
struct allowance {
  position buffer = 0;
  std::uint64_t pools = ~std::uint64_t{0};
  friend constexpr bool operator==(const allowance&, const allowance&) = default;
};

/// Buffers and constraints. Empty lists mean no such constraint; no pools mean one pool without limit.
struct problem {
  std::vector<buffer> buffers{};
  std::vector<gap> gaps{};      ///< Buffers dead in the middle of their lives.
  std::vector<pin> pins{};      ///< Buffers whose offset is given.
  std::vector<pair> aliases{};  ///< Pairs at one offset and in one pool; chains of pairs make groups.
  std::vector<pair> apart{};    ///< Pairs that must share no byte, whatever their lives.
  std::vector<pool> pools{};    ///< At most 64.
  std::vector<allowance> allowances{};

  /// Whether there is nothing but buffers.
  [[nodiscard]] bool unconstrained() const noexcept {
    return gaps.empty() && pins.empty() && aliases.empty() && apart.empty() && pools.empty() && allowances.empty();
  }
};

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
