// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Call stacks: taken by libunwind, or else by the C library, and each written once; and the files mapped into the
// process, so that stacks can be named later, even on another machine.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>

namespace ashlar::recorder {

/// Frames of each record; 0: no stacks. Not 0 before the recorder has started, so that the first event has its stack.
extern std::uint32_t stack_depth;

/// Effects: prepares the walk by rules, if stacks are wanted and `is_on`; also in the middle of the loader's work.
void start_stacks(bool is_on) noexcept;

/// Effects: loads the unwinder for stacks that cannot be walked. Call it in a constructor, where a library may be
/// loaded. Until then such stacks end at the frame that has no rule.
void prepare_unwinder() noexcept;

/// Returns: the id of the calling stack; 0 if it is unavailable.
[[nodiscard]] std::uint32_t take_stack() noexcept;

[[nodiscard]] ASHLAR_INLINE std::uint32_t stack_here() noexcept {
  return ASHLAR_LIKELY(stack_depth == 0) ? 0 : take_stack();
}

/// Returns: the greatest id so far.
[[nodiscard]] std::uint32_t last_stack() noexcept;

/// Effects: what ran in [begin, end) is gone: a stack that passes through it later is another stack, though its
/// addresses are the same. Expects: no other thread calls it at the same time.
void add_gone_code(std::uint64_t begin, std::uint64_t end) noexcept;

/// Effects: writes the stacks that are not in the file yet. Returns: false if recording is over.
bool write_stacks() noexcept;

/// Effects: in a forked child: forgets all stacks. If `locks_are_orphaned`, a thread that the child lacks may hold
/// locks of libunwind and of the loader forever: stacks are then taken without them, or not at all.
void reset_stacks(bool locks_are_orphaned) noexcept;

/// Effects: lists the modules of the program's start, for children that fork before the first write.
void prepare_modules() noexcept;

/// Effects: if stacks are recorded, writes the modules that were loaded or unloaded since the last call. Later stacks
/// through unloaded code are new ones.
void write_modules() noexcept;

/// As `write_modules`, before and after a module may go: waits at most 0.1 s for another thread that writes them.
void write_modules_patiently() noexcept;

/// Effects: before a fork: keeps other threads from listing modules, for at most a tenth of a second.
void hold_modules() noexcept;
/// Effects: after a fork, in the parent: lets them list again.
void release_modules() noexcept;

/// Effects: in a forked child: forgets the written modules. If `locks_are_orphaned`, a thread that the child lacks may
/// hold the loader's lock forever: the child then writes the parent's list and never calls the loader.
void reset_modules(bool locks_are_orphaned) noexcept;

}  // namespace ashlar::recorder
