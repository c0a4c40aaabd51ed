// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The size of a block in a stack, and at `hardened` the canary after it.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/slack.hpp>
#include <ashlar/detail/checks/watched_slack.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Blocks of a stack start and end at multiples of two pointers: so no alignment up to that needs padding or a record.
inline constexpr std::size_t stack_grain = 2 * sizeof(void*);

/// Whether a canary of at least one byte follows every block: at `hardened`.
inline constexpr bool stack_blocks_have_canaries = checking_level >= checking::hardened;

/// Returns: the bytes that a block takes in the stack: at least one grain. Expects: the sum does not overflow.
[[nodiscard]] ASHLAR_INLINE constexpr std::size_t stack_bytes(std::size_t bytes) noexcept {
  return align_up(bytes + (bytes == 0 || stack_blocks_have_canaries ? 1 : 0), stack_grain);
}

/// Returns: whether a block and the gap before it fit into `room` bytes. Expects: `room` and `gap` are whole grains.
[[nodiscard]] ASHLAR_INLINE constexpr bool fits_stack(std::size_t room, std::size_t gap, std::size_t bytes) noexcept {
  if constexpr (stack_blocks_have_canaries) return gap <= room && bytes < room - gap;
  else return gap <= room && bytes + (bytes == 0 ? 1 : 0) <= room - gap;
}

/// Effects: writes the canary after the first `bytes` bytes of a block.
inline void fill_stack_slack(std::byte* data, std::size_t bytes) noexcept {
  fill_watched_slack(data, bytes, stack_bytes(bytes));
}

/// Effects: reports a write after the first `bytes` bytes of a block.
inline void expect_stack_slack(const std::byte* data, std::size_t bytes, const void* resource) noexcept {
  const slack_state found = look_at_watched_slack(data, bytes, stack_bytes(bytes));
  if (ASHLAR_UNLIKELY(!found.is_intact)) report_write_behind(data, 0, bytes, found.written_to, resource);
}

}  // namespace ashlar::ASHLAR_ABI::detail
