// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fast walk of the calling thread's stack: rules of frames come from a cache, filled from the unwind tables.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cli/preload/frame.hpp"

namespace ashlar::recorder {

/// Effects: looks up what the walk needs. Returns: whether it works in this process: on x86-64, with glibc 2.35 or
/// later, whose search for an address takes no lock.
[[nodiscard]] bool prepare_walk() noexcept;

/// Effects: extends the bounds of the calling thread's stack, which may be empty, down to `frame`: page by page, while
/// memory can be read. A frame of another stack lies beyond a guard page, or too far away: the bounds end before it.
/// Expects: `prepare_walk()` was called. Complexity: a system call for each page. Neither allocates nor locks.
void extend_stack(stack_bounds& stack, const void* frame) noexcept;

/// Effects: writes the return addresses from a function on, its own first. `frame_pointer` is that of the function,
/// which has one: the library is compiled with them. Reads nothing outside of `stack`. Returns: their number, at most
/// `most`; negative if the next frame has no rule, or lies on another stack; 0 if the first one does. Complexity: some
/// ns a frame; microseconds for an address that is new. Neither allocates nor waits, but for a thread that adds a rule.
[[nodiscard]] int walk_stack(std::uint64_t* to, std::uint32_t most, const void* frame_pointer,
                             const stack_bounds& stack) noexcept;

/// Effects: forgets all rules: code may have gone, and other code come to its place.
void forget_rules() noexcept;

/// Effects: in a forked child: a thread that it lacks may have held the cache's lock. No known stack holds any more.
void reset_walk() noexcept;

}  // namespace ashlar::recorder
