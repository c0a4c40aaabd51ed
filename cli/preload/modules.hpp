// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The files mapped into the process, so that stacks can be given names later, on another machine if need be.
#pragma once

namespace ashlar::recorder {

/// Effects: lists what the program starts with, for children that fork before anything is written.
void prepare_modules() noexcept;

/// Effects: where stacks are recorded, writes the modules that were loaded since the last time.
void write_modules() noexcept;

/// Effects: ahead of a fork: keeps other threads from listing modules, for at most a tenth of a second.
void hold_modules() noexcept;
/// Effects: behind it, in the parent: they may list again.
void release_modules() noexcept;

/// Effects: in a forked child: forgets what has been written. If `locks_are_orphaned`, a thread that this process does
/// not have may hold the loader's lock for ever: the child then writes the parent's list and never asks the loader.
void reset_modules(bool locks_are_orphaned) noexcept;

}  // namespace ashlar::recorder
