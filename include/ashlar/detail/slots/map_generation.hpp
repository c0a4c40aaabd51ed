// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The first generation of a slot_map: different for each map, from level checked on.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/atomics.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Whether maps have different first generations, so that a handle of another map is stale.
inline constexpr bool maps_differ = checking_level >= checking::checked;

/// Returns: 1 for the first call in the process, then numbers from 1 to 2^31 that lie far apart: no two of n are closer
/// than 2^29 / n. A handle of one map is mistaken for one of another only if a slot was reused about as often. A slot
/// has at least 2^31 further generations. Thread safety: any thread.
[[nodiscard]] inline std::uint32_t next_map_generation() noexcept {
  constexpr std::uint32_t golden = 0x9E3779B9;  // 2^32 times the golden ratio: multiples of it spread evenly
  constinit static atomic<std::uint32_t> next = 0;
  return 1 + (next.fetch_add(golden, memory_order_relaxed) >> 1);  // the numbers only have to differ
}

}  // namespace ashlar::ASHLAR_ABI::detail
