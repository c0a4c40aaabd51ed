// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The generation that a slot_map begins with: another one for each map, at the levels that check.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/atomics.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Whether maps begin with generations of their own, so that a handle of another map is stale.
inline constexpr bool maps_differ = checking_level >= checking::checked;

/// Returns: 1 for the first call in the process, then numbers from 1 to 2^31 that lie far apart: of n of them no two
/// are nearer than 2^29 / n. So a handle of one map is mistaken for one of another only where a slot was used again
/// about so often. A slot has 2^31 generations left at least.
/// Thread safety: any thread.
[[nodiscard]] inline std::uint32_t next_map_generation() noexcept {
  constexpr std::uint32_t golden = 0x9E3779B9;  // 2^32 times the golden ratio: multiples of it spread evenly
  constinit static atomic<std::uint32_t> next = 0;
  return 1 + (next.fetch_add(golden, memory_order_relaxed) >> 1);  // numbers only have to differ
}

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
