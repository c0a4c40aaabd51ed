// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Call stacks: taken by libunwind, or else by the C library, and each written once.
#pragma once

#include <cstdint>

#include <ashlar/detail/support/hints.hpp>

namespace ashlar::recorder {

/// Frames of each record; 0: no stacks. Set once the unwinder is ready.
extern std::uint32_t stack_depth;

/// Effects: loads the unwinder. Call it in a constructor, where a library may be loaded.
void prepare_stacks() noexcept;

/// Returns: the id of the calling stack; 0 if it is unavailable.
[[nodiscard]] std::uint32_t take_stack() noexcept;

[[nodiscard]] ASHLAR_INLINE std::uint32_t stack_here() noexcept {
  return ASHLAR_LIKELY(stack_depth == 0) ? 0 : take_stack();
}

/// Effects: writes the stacks that are not in the file yet. Returns: false if recording is over.
bool write_stacks() noexcept;

/// Effects: in a forked child: forgets all stacks. If `locks_are_orphaned`, a thread that the child lacks may hold
/// locks of libunwind and of the loader forever: stacks are then taken without them, or not at all.
void reset_stacks(bool locks_are_orphaned) noexcept;

}  // namespace ashlar::recorder
